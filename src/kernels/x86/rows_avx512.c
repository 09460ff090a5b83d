// kernels/x86/rows_avx512.c - norm, residual, gate and rotation of a row.
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { LANES = 16 };

void avx512_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const __m512 r = _mm512_set1_ps(1 / sqrtf(avx512_row_sum_squares(x, n) / (float)n + eps));
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(left, x + i), r);
        _mm512_mask_storeu_ps(y + i, left, _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(left, w + i)));
    }
}

void avx512_add(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(left, y + i), _mm512_maskz_loadu_ps(left, x + i));
        _mm512_mask_storeu_ps(y + i, left, sum);
    }
}

void avx512_silu_mul(const float *gate, const float *up, size_t n, float *y) {
    const __m512 sign = _mm512_set1_ps(-0.0f), one = _mm512_set1_ps(1);
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        const __m512 g = _mm512_maskz_loadu_ps(left, gate + i), u = _mm512_maskz_loadu_ps(left, up + i);
        const __m512 divisor = _mm512_add_ps(one, exp_of_lanes(_mm512_xor_ps(g, sign)));
        _mm512_mask_storeu_ps(y + i, left, _mm512_mul_ps(_mm512_div_ps(g, divisor), u));
    }
}

// Eight pairs (a, b) with their (cos, sin): a cos - b sin in the even lanes, a sin + b cos in the odd ones.
void avx512_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        for (size_t i = 0; i < n_rot; i += LANES) {
            const __mmask16 left = lanes_left(n_rot - i);
            const __m512 ab = _mm512_maskz_loadu_ps(left, head + i), cs = _mm512_maskz_loadu_ps(left, cos_sin + i);
            const __m512 a = _mm512_moveldup_ps(ab), b = _mm512_movehdup_ps(ab), sc = _mm512_permute_ps(cs, 0xb1);
            _mm512_mask_storeu_ps(head + i, left, _mm512_fmaddsub_ps(a, cs, _mm512_mul_ps(b, sc)));
        }
    }
}
