// tensor/scale_search.h - scales (and minimums) for a few numbers that are to become small integers: the least weighted square error
// over a range of starts, each improved in turns: nearest integers for the scale, best scale for the integers.
//
// n is a multiple of 8, SEARCH_MOST at most where numbers are fitted. Finite inputs give finite results, but for numbers beyond 2^36, which
// no type can hold: their scale is infinite, as it would be in F16. Plain float32 in one order: the same bits on every machine.
// Threads: pure functions.
#ifndef RN_TENSOR_SCALE_SEARCH_H
#define RN_TENSOR_SCALE_SEARCH_H

#define SEARCH_MOST 32

// w[i] = importance[i] * sqrt(mean_square + x[i]^2): large numbers matter more, but small ones are not given up. importance NULL, or
// zero throughout: 1.
void search_weights(const float *x, const float *importance, int n, float mean_square, float *w);
float mean_square_of(const float *x, int n);

// x = d * q, q in [lo, hi]; d of either sign.
float search_scale(const float *x, const float *w, int n, int lo, int hi);
// Sum of w * (x - d * q)^2 with the nearest q.
float scale_error(const float *x, const float *w, int n, float d, int lo, int hi);

// x = d * q + m, q in [0, hi], d >= 0.
struct line {
    float d, m;
};
struct line search_line(const float *x, const float *w, int n, int hi);
// The same with m <= 0.
struct line search_line_below_zero(const float *x, const float *w, int n, int hi);
float line_error(const float *x, const float *w, int n, struct line l, int hi);

// x = d * iq4_values[q] (tensor/blocks.h); d of either sign.
float search_iq4_scale(const float *x, const float *w, int n);

// The nearest of the integers [lo, hi] to x / d; 0 (or the bound nearest to it) where d is too small to divide by.
int nearest_code(float x, float d, int lo, int hi);
// Index of the nearest of iq4_values to x / d.
int nearest_iq4(float x, float d);

#endif
