// sampling/head.h - top-p, min-p and the draw without sorting the row: a histogram of weights, of
// which one bin is sorted.
//
// Every cut keeps a head of the order: the candidates up to some last one. So the only question is
// which candidate a given running weight is reached at. The row is divided into bins by how far a
// logit lies below the largest one (its depth, kernels/rowmath.h), and the weights of each bin are
// added up. The bin in which the weight is reached follows from these sums, and only the candidates
// of that bin are gathered and sorted. Weights are integers, so the sums, and with them the token,
// are exactly those of the sorted list (sampling/candidates.h).
//
// Only for min_keep 1, since a histogram of weights does not count candidates.
// Ownership: works in the memory of a list that has room for the whole vocabulary. Threads: one at
// a time.
#ifndef RN_SAMPLING_HEAD_H
#define RN_SAMPLING_HEAD_H

#include "sampling/candidates.h"
#include <stdbool.h>

struct head {
    struct candidates *scratch; // private: memory, and the row functions of the CPU set
    const float *row;           // [n] logits
    const int32_t *ids;         // [n] the tokens they belong to; NULL: token i has row[i]
    size_t n;

    // The temperature before the cuts, which order and cuts go by; 0: none.
    float cut_temp;
    // The last candidate that the cuts so far keep.
    bool is_cut;
    uint64_t last_key; // its sort_key()
    float last_logit;  // as the cuts see it

    // The histogram, once has_weights. bins.temp is the temperature that its weights are of.
    struct row_depth bins;
    bool has_weights;
    uint64_t weight_in_bin[ROW_N_BINS], total;
};

// Begins with all of a row [n_vocab of scratch] whose largest number is max. cut_temp: of a
// temperature before the cuts, 0: none.
void head_begin(struct head *h, struct candidates *scratch, const float *row, float max, float cut_temp);
void head_cut_top_p(struct head *h, float top_p);
void head_cut_min_p(struct head *h, float min_p);
// The token at u in [0, 1) of the weight that is kept. temp: of a temperature after the cuts, 0:
// none.
int32_t head_draw(struct head *h, float temp, double u);

#endif
