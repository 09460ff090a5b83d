// kernels/x86/rowmath_avx512.c - reductions and exponentials over a row. 16 partial sums are one vector; a tail adds zeros to the lanes
// it does not have, which changes no partial sum (none of them is -0).
#include "kernels/x86/avx512.h"
#include "kernels/x86/exp_avx512.h"
#include <math.h>

enum { LANES = 16, AT_ONCE = 4 }; // vectors whose operations do not wait for each other

// NaN is collected apart: the hardware's maximum drops it.
float avx512_row_max(const float *x, size_t n) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    __m512 m[AT_ONCE] = {none, none, none, none};
    __mmask16 nan = 0;
    size_t i = 0;
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES) {
        __m512 v[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            v[j] = _mm512_loadu_ps(x + i + LANES * j);
            m[j] = _mm512_max_ps(v[j], m[j]);
        }
        nan |= _mm512_cmp_ps_mask(v[0], v[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask(v[2], v[3], _CMP_UNORD_Q);
    }
    for (; i < n; i += LANES) {
        const __m512 v = _mm512_mask_loadu_ps(none, lanes_left(n - i), x + i);
        m[0] = _mm512_max_ps(v, m[0]);
        nan |= _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    }
    if (nan) return NAN;
    return _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(m[0], m[1]), _mm512_max_ps(m[2], m[3]))) + 0.0f;
}

float avx512_row_sum_squares(const float *x, size_t n) {
    __m512 s = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m512 v = _mm512_loadu_ps(x + i);
        s = _mm512_fmadd_ps(v, v, s);
    }
    const __m512 v = _mm512_maskz_loadu_ps(first_lanes(n - i), x + i);
    return sum_of_lanes(_mm512_fmadd_ps(v, v, s));
}

float avx512_row_sum_exp(const float *x, size_t n, float m) {
    const __m512 vm = _mm512_set1_ps(m);
    __m512 s = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        const __m512 e = exp_of_lanes(_mm512_sub_ps(_mm512_maskz_loadu_ps(left, x + i), vm));
        s = _mm512_add_ps(s, _mm512_maskz_mov_ps(left, e));
    }
    return sum_of_lanes(s);
}

void avx512_row_exp(const float *x, size_t n, float m, float *y) {
    const __m512 vm = _mm512_set1_ps(m);
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        _mm512_mask_storeu_ps(y + i, left, exp_of_lanes(_mm512_sub_ps(_mm512_maskz_loadu_ps(left, x + i), vm)));
    }
}

// Which numbers are not below lo, and below hi if that is requested.
ALWAYS_INLINE_512 __mmask16 within(__m512 v, float lo, const bool has_hi, float hi) {
    const __mmask16 high = _mm512_cmp_ps_mask(v, _mm512_set1_ps(lo), _CMP_GE_OQ);
    return has_hi ? _mm512_mask_cmp_ps_mask(high, v, _mm512_set1_ps(hi), _CMP_LT_OQ) : high;
}

// Mostly nothing is found: four vectors are looked at together.
ALWAYS_INLINE_512 size_t select_within(const float *x, size_t n, float lo, const bool has_hi, float hi, int32_t *idx,
                                       size_t max) {
    size_t count = 0, i = 0;
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES) {
        __mmask16 found[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) found[j] = within(_mm512_loadu_ps(x + i + LANES * j), lo, has_hi, hi);
        if (!(found[0] | found[1] | found[2] | found[3])) continue;
        for (size_t j = 0; j < AT_ONCE; j++) count = put_found(found[j], i + LANES * j, idx, count, max);
    }
    for (; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i);
        const __mmask16 found = left & within(_mm512_maskz_loadu_ps(left, x + i), lo, has_hi, hi);
        count = put_found(found, i, idx, count, max);
    }
    return count;
}

size_t avx512_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max) {
    return select_within(x, n, t, false, 0, idx, max);
}

size_t avx512_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max) {
    return select_within(x, n, lo, true, hi, idx, max);
}

void avx512_row_mask(const float *x, const uint64_t *bits, size_t n, float *y) {
    const __m512 none = _mm512_set1_ps(-INFINITY);
    for (size_t i = 0; i < n; i += LANES) {
        const __mmask16 left = lanes_left(n - i), stays = left & (__mmask16)(bits[i / 64] >> i % 64);
        _mm512_mask_storeu_ps(y + i, left, _mm512_mask_loadu_ps(none, stays, x + i));
    }
}
