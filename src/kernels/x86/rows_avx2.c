// kernels/x86/rows_avx2.c - norm, residual, gate and rotation of a row.
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

void avx2_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const float r = 1 / sqrtf(avx2_row_sum_squares(x, n) / (float)n + eps);
    const __m256 vr = _mm256_set1_ps(r);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), vr), _mm256_loadu_ps(w + i)));
    for (; i < n; i++) y[i] = x[i] * r * w[i];
}

void avx2_add(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
    for (; i < n; i++) y[i] += x[i];
}

ALWAYS_INLINE __m256 silu_mul(__m256 gate, __m256 up) {
    const __m256 minus = _mm256_xor_ps(gate, _mm256_set1_ps(-0.0f));
    const __m256 divisor = _mm256_add_ps(_mm256_set1_ps(1), exp_lanes(minus));
    return _mm256_mul_ps(_mm256_div_ps(gate, divisor), up);
}

void avx2_silu_mul(const float *gate, const float *up, size_t n, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, silu_mul(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
    if (i < n) store_first(y + i, n - i, silu_mul(load_first(gate + i, n - i), load_first(up + i, n - i)));
}

// Four pairs (a, b) with their (cos, sin): a cos - b sin in the even lanes, a sin + b cos in the odd ones.
ALWAYS_INLINE __m256 rotate(__m256 ab, __m256 cs) {
    const __m256 a = _mm256_moveldup_ps(ab), b = _mm256_movehdup_ps(ab);
    const __m256 sc = _mm256_permute_ps(cs, 0xb1);
    return _mm256_fmaddsub_ps(a, cs, _mm256_mul_ps(b, sc));
}

void avx2_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        size_t i = 0;
        for (; i + 8 <= n_rot; i += 8)
            _mm256_storeu_ps(head + i, rotate(_mm256_loadu_ps(head + i), _mm256_loadu_ps(cos_sin + i)));
        if (i < n_rot)
            store_first(head + i, n_rot - i,
                        rotate(load_first(head + i, n_rot - i), load_first(cos_sin + i, n_rot - i)));
    }
}
