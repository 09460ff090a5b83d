// sampling/candidates.h - the ordered list of tokens that may still be drawn, and the exact weights that cuts and draw go by.
//
// A list is taken from a row of logits without sorting the row: only what a cut can leave is gathered and ordered. Order and
// weights are defined in sampling/sampler.h. Rows hold no NaN and no +inf, and `max` is their finite largest value.
// Ownership: candidates_init() / candidates_free(); all zero is an empty list. Threads: one at a time.
#ifndef RN_SAMPLING_CANDIDATES_H
#define RN_SAMPLING_CANDIDATES_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stddef.h>
#include <stdint.h>

#define CANDIDATES_MAX_VOCAB (1 << 24) // so many weights of at most 2^38 sum up below 2^63

struct candidates {
    size_t n, cap;
    int32_t *ids;   // [cap] in order
    float *logits;  // [cap] in order: logits[0] is the largest
    float *weights; // [cap] of the last candidates_weigh(), before rounding to fixed point
    const struct rowmath *rm;
    size_t n_vocab;
    uint64_t *keys;                     // private: [n_vocab] scratch of ordering
    uint64_t *keys_out;                 // private: [n_vocab]; NULL where the list is short: row_top_k takes it
    uint64_t weight_in_bin[ROW_N_BINS]; // private: of the row last weighed
};

// k > 0: room for lists of the k best, k <= n_vocab; k = 0: for any list.
rn_status candidates_init(struct candidates *c, const struct rowmath *rm, int32_t n_vocab, int32_t k, rn_error *err);
void candidates_free(struct candidates *c);
size_t candidates_bytes(const struct candidates *c); // of the memory it owns

// Take from a row [n_vocab]: the k best; all >= floor (all but -inf when that is -inf).
void candidates_take_best(struct candidates *c, const float *row, int32_t k);
void candidates_take_from(struct candidates *c, const float *row, float floor);
// Total weight of a row. Never 0: the largest weighs 2^38.
uint64_t candidates_row_weight(struct candidates *c, const float *row, float max);
// Take the head of the order whose weight reaches `need`, and perhaps more behind it. Call candidates_row_weight() on the same
// row before; need <= its answer.
void candidates_take_weight(struct candidates *c, const float *row, float max, uint64_t need);

// Fills weights[0..n) and returns their total.
uint64_t candidates_weigh(struct candidates *c);
// Weight of candidate i after candidates_weigh().
uint64_t candidates_weight(const struct candidates *c, size_t i);
// Index of the first candidate at which the running weight exceeds `target`; n - 1 when none does.
size_t candidates_find(const struct candidates *c, uint64_t target);

#endif
