// kernels/ref/rows_ref.c - what a model does to a row between its matrix products: norm, residual, gate, rotation.
#include "kernels/ref/ref.h"
#include <math.h>

void ref_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const float r = 1 / sqrtf(ref_row_sum_squares(x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++) y[i] = x[i] * r * w[i];
}

void ref_add(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

void ref_silu_mul(const float *gate, const float *up, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = gate[i] / (1 + exp_f32(-gate[i])) * up[i];
}

void ref_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        for (size_t i = 0; i < n_rot; i += 2) {
            const float a = head[i], b = head[i + 1], c = cos_sin[i], s = cos_sin[i + 1];
            head[i] = fmaf(a, c, -(b * s));
            head[i + 1] = fmaf(a, s, b * c);
        }
    }
}
