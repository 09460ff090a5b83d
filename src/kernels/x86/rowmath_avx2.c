// kernels/x86/rowmath_avx2.c - reductions and exponentials over a row. 16 partial sums are two vectors; a tail adds zeros to the
// lanes it does not have, which changes no partial sum (none of them is -0).
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"
#include <math.h>

// Lanes that are NaN are collected apart: the hardware's maximum drops them.
float avx2_row_max(const float *x, size_t n) {
    __m256 m[4], nan = _mm256_setzero_ps();
    for (int j = 0; j < 4; j++) m[j] = _mm256_set1_ps(-INFINITY);
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 4; j++) {
            const __m256 v = _mm256_loadu_ps(x + i + 8 * j);
            m[j] = _mm256_max_ps(v, m[j]);
            nan = _mm256_or_ps(nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        }
    for (; i < n; i += 8) {
        const size_t left = n - i < 8 ? n - i : 8;
        const __m256 mask = _mm256_castsi256_ps(lane_mask(left));
        const __m256 v = _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), load_first(x + i, left), mask);
        m[0] = _mm256_max_ps(v, m[0]);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    }
    if (_mm256_movemask_ps(nan)) return NAN;
    return max_lane(_mm256_max_ps(_mm256_max_ps(m[0], m[1]), _mm256_max_ps(m[2], m[3]))) + 0.0f;
}

float avx2_row_sum_squares(const float *x, size_t n) {
    __m256 lo = _mm256_setzero_ps(), hi = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + i + 8);
        lo = _mm256_fmadd_ps(a, a, lo);
        hi = _mm256_fmadd_ps(b, b, hi);
    }
    if (i < n) {
        const size_t left = n - i;
        const __m256 a = load_first(x + i, left < 8 ? left : 8), b = left > 8 ? load_first(x + i + 8, left - 8) : hi;
        lo = _mm256_fmadd_ps(a, a, lo);
        if (left > 8) hi = _mm256_fmadd_ps(b, b, hi);
    }
    return sum_tree(lo, hi);
}

// exp(x - m) of up to 8 numbers; 0 in the other lanes.
ALWAYS_INLINE __m256 exp_first(const float *x, size_t n, __m256 m) {
    return _mm256_and_ps(exp_lanes(_mm256_sub_ps(load_first(x, n), m)), _mm256_castsi256_ps(lane_mask(n)));
}

float avx2_row_sum_exp(const float *x, size_t n, float m) {
    __m256 lo = _mm256_setzero_ps(), hi = _mm256_setzero_ps();
    const __m256 vm = _mm256_set1_ps(m);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        lo = _mm256_add_ps(lo, exp_lanes(_mm256_sub_ps(_mm256_loadu_ps(x + i), vm)));
        hi = _mm256_add_ps(hi, exp_lanes(_mm256_sub_ps(_mm256_loadu_ps(x + i + 8), vm)));
    }
    if (i < n) {
        const size_t left = n - i;
        lo = _mm256_add_ps(lo, exp_first(x + i, left < 8 ? left : 8, vm));
        if (left > 8) hi = _mm256_add_ps(hi, exp_first(x + i + 8, left - 8, vm));
    }
    return sum_tree(lo, hi);
}

void avx2_row_exp(const float *x, size_t n, float m, float *y) {
    const __m256 vm = _mm256_set1_ps(m);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, exp_lanes(_mm256_sub_ps(_mm256_loadu_ps(x + i), vm)));
    if (i < n) store_first(y + i, n - i, exp_first(x + i, n - i, vm));
}

// Numbers that are not below lo, and below hi if that is requested.
ALWAYS_INLINE size_t select_within(const float *x, size_t n, float lo, const bool has_hi, float hi, int32_t *idx,
                                   size_t max) {
    const __m256 least = _mm256_set1_ps(lo), beyond = _mm256_set1_ps(hi);
    size_t count = 0;
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i < 8 ? n - i : 8;
        const __m256 v = left == 8 ? _mm256_loadu_ps(x + i) : load_first(x + i, left);
        __m256 is_within = _mm256_cmp_ps(v, least, _CMP_GE_OQ);
        if (has_hi) is_within = _mm256_and_ps(is_within, _mm256_cmp_ps(v, beyond, _CMP_LT_OQ));
        unsigned found = (unsigned)_mm256_movemask_ps(is_within) & ((1u << left) - 1);
        if (count >= max) { // there is no room for more
            count += (size_t)__builtin_popcount(found);
            continue;
        }
        for (; found; found &= found - 1, count++)
            if (count < max) idx[count] = (int32_t)(i + (size_t)__builtin_ctz(found));
    }
    return count;
}

size_t avx2_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max) {
    return select_within(x, n, t, false, 0, idx, max);
}

size_t avx2_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max) {
    return select_within(x, n, lo, true, hi, idx, max);
}

void avx2_row_mask(const float *x, const uint64_t *bits, size_t n, float *y) {
    const __m256 none = _mm256_set1_ps(-INFINITY);
    const __m256i bit_of = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i < 8 ? n - i : 8;
        const __m256i word = _mm256_set1_epi32((int)(bits[i / 64] >> i % 64 & 0xff));
        const __m256 stays = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(word, bit_of), bit_of));
        const __m256 v = _mm256_blendv_ps(none, left == 8 ? _mm256_loadu_ps(x + i) : load_first(x + i, left), stays);
        if (left == 8)
            _mm256_storeu_ps(y + i, v);
        else
            store_first(y + i, left, v);
    }
}
