// sampling/masked_row.h - functions of a row of logits of which a mask lets some count: the largest,
// those above a bound, the k best. The row is read as it is, block by block, and not copied.
//
// mask: sampling/token_mask.h; NULL: all of them count. What does not is -inf, whatever it is.
// Ownership: the caller's. Threads: pure functions, in the floating-point mode of base/pool.h.
#ifndef RN_SAMPLING_MASKED_ROW_H
#define RN_SAMPLING_MASKED_ROW_H

#include "kernels/rowmath.h"

// The largest; NaN if there is one; -inf for n = 0. *block: where a block begins that has the first one that is
// equal to it.
float masked_row_max(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, size_t *block);
// The index of that one. max, block: as found.
size_t masked_row_first(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, float max,
                        size_t block);
// As select_ge() of the row functions, for t > -inf.
size_t masked_row_select_ge(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, float t,
                            int32_t *idx, size_t max);
// As row_top_k(), but for those that are -inf, so that there may be fewer than k. x: no NaN.
size_t masked_row_top_k(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, size_t k,
                        int32_t *idx, int32_t *scratch);

#endif
