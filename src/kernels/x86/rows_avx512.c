// kernels/x86/rows_avx512.c - norms, softmax, sums and products, and rotation of a row: whole vectors, then what is left by a mask.
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { LANES = 16 };
#define ALL_LANES ((__mmask16)0xffff)

// Numbers from p + i on; where there is no p, `otherwise`.
ALWAYS_INLINE_512 __m512 numbers_or(__mmask16 lanes, const float *p, size_t i, float otherwise) {
    return p ? _mm512_maskz_loadu_ps(lanes, p + i) : _mm512_set1_ps(otherwise);
}

ALWAYS_INLINE_512 void norm_lanes(__mmask16 lanes, const float *x, const float *w, size_t i, __m512 r, float *y) {
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), r);
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(scaled, numbers_or(lanes, w, i, 1)));
}
void avx512_rms_norm(const float *x, const float *w, size_t n, float eps, float *y) {
    const __m512 r = _mm512_set1_ps(1 / sqrtf(avx512_row_sum_squares(x, n) / (float)n + eps));
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) norm_lanes(ALL_LANES, x, w, i, r, y);
    if (i < n) norm_lanes(first_lanes(n - i), x, w, i, r, y);
}

// The lanes that a tail does not have stay: a sum that was flushed to -0 would become +0 by adding 0.
static float row_sum(const float *x, size_t n) {
    __m512 s = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        s = _mm512_mask_add_ps(s, lanes, s, _mm512_maskz_loadu_ps(lanes, x + i));
    }
    return sum_of_lanes(s);
}

static float row_sum_squares_about(const float *x, size_t n, float mean) {
    const __m512 about = _mm512_set1_ps(mean);
    __m512 s = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 d = _mm512_maskz_sub_ps(lanes, _mm512_maskz_loadu_ps(lanes, x + i), about);
        s = _mm512_fmadd_ps(d, d, s);
    }
    return sum_of_lanes(s);
}

void avx512_layer_norm(const float *x, const float *w, const float *bias, size_t n, float eps, float *y) {
    const float mean = row_sum(x, n) / (float)n;
    const __m512 r = _mm512_set1_ps(1 / sqrtf(row_sum_squares_about(x, n, mean) / (float)n + eps));
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), _mm512_set1_ps(mean));
        const __m512 scaled = _mm512_mul_ps(d, r), shift = numbers_or(lanes, bias, i, 0);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_fmadd_ps(scaled, numbers_or(lanes, w, i, 1), shift));
    }
}

void avx512_softmax(float *x, size_t n) {
    const float m = avx512_row_max(x, n);
    const __m512 sum = _mm512_set1_ps(avx512_row_sum_exp(x, n, m));
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 e = exp_of_lanes(_mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), _mm512_set1_ps(m)));
        _mm512_mask_storeu_ps(x + i, lanes, _mm512_div_ps(e, sum));
    }
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

void avx512_add_scaled(float *y, const float *x, float s, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 vx = _mm512_maskz_loadu_ps(lanes, x + i), vy = _mm512_maskz_loadu_ps(lanes, y + i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_fmadd_ps(_mm512_set1_ps(s), vx, vy));
    }
}

void avx512_scale(float *y, float s, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, y + i), _mm512_set1_ps(s)));
    }
}

void avx512_mul(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 lanes = lanes_left(n - i);
        const __m512 vx = _mm512_maskz_loadu_ps(lanes, x + i), vy = _mm512_maskz_loadu_ps(lanes, y + i);
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(vy, vx));
    }
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

// Up to 16 pairs (a[i], b[i]); cs: their (cos, sin) side by side.
ALWAYS_INLINE_512 void rotate_halves(float *a, float *b, const float *cs, size_t n) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
                  odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const __mmask32 numbers = (__mmask32)(((uint64_t)1 << 2 * n) - 1);
    const __mmask16 lanes = first_lanes(n);
    const __m512 lo = _mm512_maskz_loadu_ps((__mmask16)numbers, cs),
                 hi = _mm512_maskz_loadu_ps((__mmask16)(numbers >> 16), cs + 16);
    const __m512 c = _mm512_permutex2var_ps(lo, even, hi), s = _mm512_permutex2var_ps(lo, odd, hi);
    const __m512 va = _mm512_maskz_loadu_ps(lanes, a), vb = _mm512_maskz_loadu_ps(lanes, b);
    _mm512_mask_storeu_ps(a, lanes, _mm512_fmsub_ps(va, c, _mm512_mul_ps(vb, s)));
    _mm512_mask_storeu_ps(b, lanes, _mm512_fmadd_ps(va, s, _mm512_mul_ps(vb, c)));
}
void avx512_rope_halves(float *x, size_t n_head, size_t stride, size_t n_rot, const float *cos_sin) {
    const size_t n = n_rot / 2;
    for (size_t h = 0; h < n_head; h++) {
        float *const first = x + h * stride, *const second = first + n;
        size_t i = 0;
        for (; i + LANES <= n; i += LANES) rotate_halves(first + i, second + i, cos_sin + 2 * i, LANES);
        if (i < n) rotate_halves(first + i, second + i, cos_sin + 2 * i, n - i);
    }
}
