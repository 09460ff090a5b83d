// sampling/candidates.h - the ordered list of tokens that may still be drawn, with exact integer
// weights.
//
// The row of logits is not sorted: only the tokens that a cut may keep are gathered and ordered.
// Order and weights are defined in sampling/sampler.h. Rows hold neither NaN nor +inf, and `max` is
// their largest value, which is finite.
// Ownership: candidates_init() / candidates_free(); all zero is an empty list. Threads: one at a
// time.
#ifndef RN_SAMPLING_CANDIDATES_H
#define RN_SAMPLING_CANDIDATES_H

#include "base/status.h"
#include "kernels/rowmath.h"
#include <stddef.h>
#include <stdint.h>

#define CANDIDATES_MAX_VOCAB (1 << 24) // the sum of as many weights of up to 2^38 is below 2^63

struct candidates {
    size_t n, cap;
    int32_t *ids;   // [cap] in order
    float *logits;  // [cap] in order: logits[0] is the largest
    float *weights; // [cap] of the last candidates_weigh(), before rounding to fixed point
    const struct rowmath *rm;
    size_t n_vocab;
    // Of a row that candidates_take_best() and candidates_take_from() are given: the tokens that count
    // (sampling/token_mask.h). NULL: all.
    const uint64_t *mask;
    // Private: [n_vocab] scratch for sorting; keys_out is NULL for a short list, which row_top_k()
    // orders. The histogram of the last candidates_row_weight().
    uint64_t *keys, *keys_out;
    uint64_t weight_in_bin[ROW_N_BINS];
};

// k > 0: room for the k best of a row only, k <= n_vocab; k = 0: for any list. Errors: RN_E_NOMEM.
rn_status candidates_init(struct candidates *c, const struct rowmath *rm, int32_t n_vocab, int32_t k, rn_error *err);
void candidates_free(struct candidates *c);
size_t candidates_bytes(const struct candidates *c); // memory that it owns
size_t candidates_most_bytes(int32_t n_vocab);       // what one for any list owns

// Fill the list from a row [n_vocab], with the k best, or with all logits >= floor (all but -inf if
// floor is -inf).
void candidates_take_best(struct candidates *c, const float *row, int32_t k);
void candidates_take_from(struct candidates *c, const float *row, float floor);
// The total weight of a row. Never 0: the largest logit weighs 2^38.
uint64_t candidates_row_weight(struct candidates *c, const float *row, float max);
// Fills the list with the shortest prefix of the order whose weight reaches `need`, and possibly a
// few more. Call candidates_row_weight() on the same row before; need is at most its result.
void candidates_take_weight(struct candidates *c, const float *row, float max, uint64_t need);

// Keeps the first n candidates, or the first `keep` if these are more.
void candidates_shorten(struct candidates *c, size_t n, int32_t keep);

// Computes weights[0..n) and returns their total.
uint64_t candidates_weigh(struct candidates *c);
// Weight of candidate i after candidates_weigh().
uint64_t candidates_weight(const struct candidates *c, size_t i);
// The index of the first candidate at which the running sum of weights exceeds `target`; n - 1 if
// none does.
size_t candidates_find(const struct candidates *c, uint64_t target);

#endif
