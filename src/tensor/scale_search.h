// tensor/scale_search.h - finds the scale (and minimum) that quantizes a few numbers to small
// integers with the least weighted square error.
//
// From each of several start values it alternates between the nearest integers for the scale and
// the best scale for the integers, and takes the best result. n is a multiple of 8, and at most
// SEARCH_MOST for searches. Finite inputs give finite results, except numbers above 2^36, which no
// type can represent: their scale is infinite, as it would be in F16. Plain float32 in a fixed
// order: the same bits on every machine.
// Threads: pure functions.
#ifndef RN_TENSOR_SCALE_SEARCH_H
#define RN_TENSOR_SCALE_SEARCH_H

#include <stdint.h>

#define SEARCH_MOST 32

// w[i] = importance[i] * sqrt(mean_square + x[i]^2): large numbers count more, but small ones still
// count. importance: NULL, or all zero, counts as 1 for each.
void search_weights(const float *x, const float *importance, int n, float mean_square, float *w);
float mean_square_of(const float *x, int n);

// The codes that x / d is rounded to: the integers from lo to hi, or the values of an ascending table (lo and hi are its ends).
struct codes {
    float lo, hi;
    const int8_t *values; // NULL: integers
    int n_values;
};

// x = d * code; d of either sign.
float search_scale(const float *x, const float *w, int n, struct codes c);
// The sum of w * (x - d * code)^2 with the nearest code.
float scale_error(const float *x, const float *w, int n, float d, struct codes c);

// x = d * q + m, q in [0, hi], d >= 0.
struct line {
    float d, m;
};
struct line search_line(const float *x, const float *w, int n, int hi);
// The same with m <= 0.
struct line search_line_below_zero(const float *x, const float *w, int n, int hi);
float line_error(const float *x, const float *w, int n, struct line l, int hi);

// The integer in [lo, hi] nearest to x / d; 0, or the bound nearest to it, if d is too small to
// divide by.
int nearest_code(float x, float d, int lo, int hi);
// The nearest code, and its place in the table.
float nearest_value(float x, float d, struct codes c);
int nearest_entry(float x, float d, struct codes c);

#endif
