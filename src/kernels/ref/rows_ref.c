// kernels/ref/rows_ref.c - operations on rows between the matrix products: norms, softmax, sums, products, rotation.
#include "kernels/ref/ref.h"
#include <math.h>

void ref_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const float r = 1 / sqrtf(ref_row_sum_squares(x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++) y[i] = x[i] * r * (w ? w[i] : 1);
}

void ref_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y) {
    float s[16] = {0}, squares[16] = {0};
    for (size_t i = 0; i < n; i++) s[i % 16] += x[i];
    const float mean = sum_tree_16(s) / (float)n;
    for (size_t i = 0; i < n; i++) squares[i % 16] = fmaf(x[i] - mean, x[i] - mean, squares[i % 16]);
    const float r = 1 / sqrtf(sum_tree_16(squares) / (float)n + eps);
    for (size_t i = 0; i < n; i++) y[i] = fmaf((x[i] - mean) * r, w ? w[i] : 1, bias ? bias[i] : 0);
}

void ref_softmax(float *x, size_t n) {
    const float m = ref_row_max(x, n), sum = ref_row_sum_exp(x, n, m);
    for (size_t i = 0; i < n; i++) x[i] = exp_f32(x[i] - m) / sum;
}

void ref_add(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

void ref_add_scaled(float *y, const float *x, float s, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = fmaf(s, x[i], y[i]);
}

void ref_scale(float *y, float s, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] *= s;
}

void ref_mul(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] *= x[i];
}

static void rotate(float *a, float *b, const float cos_sin[2]) {
    const float old_a = *a, c = cos_sin[0], s = cos_sin[1];
    *a = fmaf(old_a, c, -(*b * s));
    *b = fmaf(old_a, s, *b * c);
}

void ref_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++)
        for (size_t i = 0; i < n_rot; i += 2) rotate(x + h * stride + i, x + h * stride + i + 1, cos_sin + i);
}

void ref_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const first = x + h * stride, *const second = first + n_rot / 2;
        for (size_t i = 0; i < n_rot / 2; i++) rotate(first + i, second + i, cos_sin + 2 * i);
    }
}
