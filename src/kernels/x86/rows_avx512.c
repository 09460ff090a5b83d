// kernels/x86/rows_avx512.c - norm, residual, gate and rotation of a row: whole vectors, then what is left of the row by a mask.
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { LANES = 16 };
#define ALL_LANES ((__mmask16)0xffff)

ALWAYS_INLINE_512 void norm_lanes(__mmask16 lanes, const float *x, const float *w, __m512 r, float *y) {
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x), r);
    _mm512_mask_storeu_ps(y, lanes, _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(lanes, w)));
}
void avx512_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const __m512 r = _mm512_set1_ps(1 / sqrtf(avx512_row_sum_squares(x, n) / (float)n + eps));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) norm_lanes(ALL_LANES, x + i, w + i, r, y + i);
    if (i < n) norm_lanes(first_lanes(n - i), x + i, w + i, r, y + i);
}

ALWAYS_INLINE_512 void add_lanes(__mmask16 lanes, float *y, const float *x) {
    const __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y), _mm512_maskz_loadu_ps(lanes, x));
    _mm512_mask_storeu_ps(y, lanes, sum);
}
void avx512_add(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) add_lanes(ALL_LANES, y + i, x + i);
    if (i < n) add_lanes(first_lanes(n - i), y + i, x + i);
}

ALWAYS_INLINE_512 void silu_mul_lanes(__mmask16 lanes, const float *gate, const float *up, float *y) {
    const __m512 g = _mm512_maskz_loadu_ps(lanes, gate), u = _mm512_maskz_loadu_ps(lanes, up);
    const __m512 divisor = _mm512_add_ps(_mm512_set1_ps(1), exp_of_lanes(_mm512_xor_ps(g, _mm512_set1_ps(-0.0f))));
    _mm512_mask_storeu_ps(y, lanes, _mm512_mul_ps(_mm512_div_ps(g, divisor), u));
}
void avx512_silu_mul(const float *gate, const float *up, size_t n, float *y) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) silu_mul_lanes(ALL_LANES, gate + i, up + i, y + i);
    if (i < n) silu_mul_lanes(first_lanes(n - i), gate + i, up + i, y + i);
}

// Eight pairs (a, b) with their (cos, sin): a cos - b sin in the even lanes, a sin + b cos in the odd ones.
ALWAYS_INLINE_512 void rotate_lanes(__mmask16 lanes, float *x, const float *cos_sin) {
    const __m512 ab = _mm512_maskz_loadu_ps(lanes, x), cs = _mm512_maskz_loadu_ps(lanes, cos_sin);
    const __m512 a = _mm512_moveldup_ps(ab), b = _mm512_movehdup_ps(ab), sc = _mm512_permute_ps(cs, 0xb1);
    _mm512_mask_storeu_ps(x, lanes, _mm512_fmaddsub_ps(a, cs, _mm512_mul_ps(b, sc)));
}
void avx512_rope(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    for (size_t h = 0; h < n_head; h++) {
        float *const head = x + h * stride;
        size_t i = 0;
        for (; i + LANES <= n_rot; i += LANES) rotate_lanes(ALL_LANES, head + i, cos_sin + i);
        if (i < n_rot) rotate_lanes(first_lanes(n_rot - i), head + i, cos_sin + i);
    }
}
