// kernels/arm/rowmath_neon.c - reductions and exponentials over a row. 16 partial sums are four vectors; a tail adds zeros to the
// lanes it does not have, which changes no partial sum (none of them is -0).
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include <math.h>

enum { VECTORS = 4, STEP = 16 };

// fmax gives NaN where either number is one.
float neon_row_max(const float *x, size_t n) {
    float32x4_t m[VECTORS];
    for (int j = 0; j < VECTORS; j++) m[j] = vdupq_n_f32(-INFINITY);
    size_t i = 0;
    for (; i + STEP <= n; i += STEP)
        for (int j = 0; j < VECTORS; j++) m[j] = vmaxq_f32(m[j], vld1q_f32(x + i + 4 * j));
    for (; i < n; i++) m[0] = vmaxq_f32(m[0], vdupq_n_f32(x[i]));
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(m[0], m[1]), vmaxq_f32(m[2], m[3]))) + 0.0f;
}

float neon_row_sum_squares(const float *x, size_t n) {
    float32x4_t s[VECTORS];
    for (int j = 0; j < VECTORS; j++) s[j] = vdupq_n_f32(0);
    for (size_t i = 0; i < n; i += STEP)
        for (size_t j = 0; j < VECTORS; j++) {
            const float32x4_t v = load_row(x, i + 4 * j, n);
            s[j] = vfmaq_f32(s[j], v, v);
        }
    return sum_tree(s);
}

float neon_row_sum_exp(const float *x, size_t n, float m) {
    float32x4_t s[VECTORS];
    for (int j = 0; j < VECTORS; j++) s[j] = vdupq_n_f32(0);
    for (size_t i = 0; i < n; i += STEP)
        for (size_t j = 0; j < VECTORS; j++) {
            const size_t at = i + 4 * j;
            const float32x4_t e = exp_lanes(vsubq_f32(load_row(x, at, n), vdupq_n_f32(m)));
            s[j] = vaddq_f32(s[j], only_lanes(e, vcltq_u32(lanes_from(at), vdupq_n_u32((uint32_t)n))));
        }
    return sum_tree(s);
}

void neon_row_exp(const float *x, size_t n, float m, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, exp_lanes(vsubq_f32(vld1q_f32(x + i), vdupq_n_f32(m))));
    if (i < n) store_first(y + i, n - i, exp_lanes(vsubq_f32(load_first(x + i, n - i), vdupq_n_f32(m))));
}

// Few numbers of a long row are wanted: most steps find none.
// Numbers that are not below lo, and below hi if that is requested.
ALWAYS_INLINE size_t select_within(const float *x, size_t n, float lo, const bool has_hi, float hi, int32_t *idx,
                                   size_t max) {
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = n - i < STEP ? n : i + STEP;
        if (end - i == STEP) {
            uint32x4_t found = vdupq_n_u32(0);
            for (int j = 0; j < VECTORS; j++) {
                const float32x4_t v = vld1q_f32(x + i + 4 * j);
                const uint32x4_t high = vcgeq_f32(v, vdupq_n_f32(lo));
                found = vorrq_u32(found, has_hi ? vandq_u32(high, vcltq_f32(v, vdupq_n_f32(hi))) : high);
            }
            if (!vmaxvq_u32(found)) continue;
        }
        for (size_t j = i; j < end; j++) {
            if (!(x[j] >= lo) || (has_hi && !(x[j] < hi))) continue;
            if (count < max) idx[count] = (int32_t)j;
            count++;
        }
    }
    return count;
}

size_t neon_row_select_ge(const float *x, size_t n, float t, int32_t *idx, size_t max) {
    return select_within(x, n, t, false, 0, idx, max);
}

size_t neon_row_select_between(const float *x, size_t n, float lo, float hi, int32_t *idx, size_t max) {
    return select_within(x, n, lo, true, hi, idx, max);
}

void neon_row_mask(const float *x, const uint64_t *bits, size_t n, float *y) {
    static const uint32_t bit_of[4] = {1, 2, 4, 8};
    for (size_t i = 0; i < n; i += 4) {
        const size_t left = n - i < 4 ? n - i : 4;
        const uint32x4_t stays = vtstq_u32(vdupq_n_u32((uint32_t)(bits[i / 64] >> i % 64 & 15)), vld1q_u32(bit_of));
        const float32x4_t v = vbslq_f32(stays, load_first(x + i, left), vdupq_n_f32(-INFINITY));
        if (left == 4)
            vst1q_f32(y + i, v);
        else
            store_first(y + i, left, v);
    }
}
