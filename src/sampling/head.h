// sampling/head.h - cuts and draw on the head of a row's order, without making a list of it.
//
// Every cut keeps the first of the order up to some candidate. That candidate stands for the list: its place is found in sums of weights
// by depth (kernels/rowmath.h), and only what shares a depth with it is gathered and ordered. Weights are integers, so that every sum is
// that of the list and the token drawn the same (sampling/sampler.h). For min_keep 1: cuts then need no count.
// Ownership: uses the memory of a list with room for all. Threads: one at a time.
#ifndef RN_SAMPLING_HEAD_H
#define RN_SAMPLING_HEAD_H

#include "sampling/candidates.h"
#include <stdbool.h>

struct head {
    struct candidates *list; // private: memory and row functions
    const float *row;        // [n]
    const int32_t *ids;      // [n] whose numbers they are; NULL: of token i is row[i]
    size_t n;
    struct row_depth depth; // by which weights were summed up last
    float order_temp;       // the order is that of the row divided by it; 0: of the row itself
    bool is_weighed, is_cut;
    uint64_t last; // sort_key of the last candidate that is kept, if is_cut
    float last_logit;
    uint64_t sums[ROW_N_BINS], total; // of all, if is_weighed
};

// All of a row whose largest is max. temp: of a temperature before the cuts, 0 for none.
void head_begin(struct head *h, struct candidates *list, const float *row, float max, float temp);
void head_cut_top_p(struct head *h, float top_p);
void head_cut_min_p(struct head *h, float min_p);
// The token at u in [0, 1) of the weight that is kept. temp: of a temperature after the cuts, 0 for none.
int32_t head_draw(struct head *h, float temp, double u);

#endif
