// kernels/ref/rowmath_ref.c - reductions and exponentials of a row; sums use 16 strided partial sums and a tree.
#include "kernels/ref/ref.h"
#include <math.h>

// Adding 0 gives the same bits for -0, +0 and denormals, which compare equal.
float ref_row_max(const float *x, size_t n) {
    float m = -INFINITY;
    for (size_t i = 0; i < n; i++) m = max_or_nan(m, x[i]);
    return m + 0.0f;
}

float ref_row_sum_squares(const float *x, size_t n) {
    float s[16] = {0};
    for (size_t i = 0; i < n; i++) s[i % 16] = fmaf(x[i], x[i], s[i % 16]);
    return sum_tree_16(s);
}

float ref_row_sum_exp(const float *x, size_t n, float m) {
    float s[16] = {0};
    for (size_t i = 0; i < n; i++) s[i % 16] += exp_f32(x[i] - m);
    return sum_tree_16(s);
}

void ref_row_exp(const float *x, size_t n, float m, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = exp_f32(x[i] - m);
}

size_t ref_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] >= t)) continue;
        if (count < max) idx[count] = (int32_t)i;
        count++;
    }
    return count;
}

size_t ref_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] >= lo && x[i] < hi)) continue;
        if (count < max) idx[count] = (int32_t)i;
        count++;
    }
    return count;
}

void ref_row_weigh(const float *x, size_t n, struct row_depth d, uint64_t sums[ROW_N_BINS]) {
    for (size_t i = 0; i < n; i++) {
        const float t = row_depth_of(d, x[i]);
        sums[row_bin_of(d, t)] += row_weight_of(exp_f32(t));
    }
}

void ref_row_mask(const float *x, const uint64_t *bits, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = bits[i / 64] >> i % 64 & 1 ? x[i] : -INFINITY;
}
