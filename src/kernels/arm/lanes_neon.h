// kernels/arm/lanes_neon.h - helpers shared by the NEON kernels: loads of tails, the tree of 16 sums, exp on 4 lanes.
#ifndef RN_KERNELS_ARM_LANES_NEON_H
#define RN_KERNELS_ARM_LANES_NEON_H

#include "kernels/exp_constants.h"
#include "kernels/unrolled.h"
#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// For loops over rows and panels whose bounds are constants where they are inlined: their arrays then live in registers.
#define ALWAYS_INLINE static inline __attribute__((always_inline))

// The numbers j .. j + 3.
ALWAYS_INLINE uint32x4_t lanes_from(size_t j) {
    static const uint32_t numbers[4] = {0, 1, 2, 3};
    return vaddq_u32(vld1q_u32(numbers), vdupq_n_u32((uint32_t)j));
}

// n (0..4) floats; memory of the other lanes is not touched, they read as 0.
ALWAYS_INLINE float32x4_t load_first(const float *x, size_t n) {
    float some[4] = {0};
    if (n >= 4) return vld1q_f32(x);
    memcpy(some, x, 4 * n);
    return vld1q_f32(some);
}
ALWAYS_INLINE void store_first(float *y, size_t n, float32x4_t v) {
    float all[4];
    vst1q_f32(all, v);
    memcpy(y, all, 4 * n);
}
// Numbers i .. i + 3 of n; zeros where there are none.
ALWAYS_INLINE float32x4_t load_row(const float *x, size_t i, size_t n) {
    return i + 4 <= n ? vld1q_f32(x + i) : i < n ? load_first(x + i, n - i) : vdupq_n_f32(0);
}

ALWAYS_INLINE int32_t load_i32(const void *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}
ALWAYS_INLINE float load_f32(const void *p) {
    float v;
    memcpy(&v, p, 4);
    return v;
}

// 4 F16 to float: exact for denormal halves, which the mode FZ does not concern.
ALWAYS_INLINE float32x4_t load_f16(const void *p) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))); }
// 4 signed bytes.
ALWAYS_INLINE int32x4_t load_4_bytes(const void *p) {
    const int8x8_t v = vreinterpret_s8_s32(vdup_n_s32(load_i32(p)));
    return vmovl_s16(vget_low_s16(vmovl_s8(v)));
}

// Of sums 4 i .. 4 i + 3 in s[i], by the tree of rowmath.h: distances 8, 4, 2, 1.
ALWAYS_INLINE float sum_tree(const float32x4_t s[4]) {
    const float32x4_t s4 = vaddq_f32(vaddq_f32(s[0], s[2]), vaddq_f32(s[1], s[3]));
    const float32x2_t s2 = vadd_f32(vget_low_f32(s4), vget_high_f32(s4));
    return vget_lane_f32(s2, 0) + vget_lane_f32(s2, 1);
}

// The lanes of v where the mask is set, 0 elsewhere.
ALWAYS_INLINE float32x4_t only_lanes(float32x4_t v, uint32x4_t mask) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), mask));
}

// exp_f32 (scalar_f32.c) on 4 lanes, operation by operation.
ALWAYS_INLINE float32x4_t exp_lanes(float32x4_t x) {
    const float32x4_t shift = vdupq_n_f32(EXP_SHIFT), one = vdupq_n_f32(1);
    const float32x4_t shifted = vfmaq_f32(shift, x, vdupq_n_f32(EXP_LOG2E));
    const float32x4_t n = vsubq_f32(shifted, shift);
    const float32x4_t r = vfmaq_f32(vfmaq_f32(x, n, vdupq_n_f32(-EXP_LN2_HI)), n, vdupq_n_f32(-EXP_LN2_LO));
    float32x4_t p = vdupq_n_f32(EXP_C6);
    p = vfmaq_f32(vdupq_n_f32(EXP_C5), p, r);
    p = vfmaq_f32(vdupq_n_f32(EXP_C4), p, r);
    p = vfmaq_f32(vdupq_n_f32(EXP_C3), p, r);
    p = vfmaq_f32(vdupq_n_f32(EXP_C2), p, r);
    p = vfmaq_f32(one, p, r);
    p = vfmaq_f32(one, p, r);
    const uint32x4_t scaled = vaddq_u32(vreinterpretq_u32_f32(p), vshlq_n_u32(vreinterpretq_u32_f32(shifted), 23));
    const uint32x4_t too_large = vcgtq_f32(x, vdupq_n_f32(EXP_MAX)), too_small = vcltq_f32(x, vdupq_n_f32(EXP_MIN));
    float32x4_t y = vbslq_f32(too_large, vdupq_n_f32(__builtin_inff()), vreinterpretq_f32_u32(scaled));
    y = vbslq_f32(too_small, vdupq_n_f32(0), y);
    return vbslq_f32(vceqq_f32(x, x), y, x); // a NaN stays
}

// bf16_from_f32 (tensor/half.h) on 4 lanes: integers, so that no floating-point mode matters. The results are in the high halves.
ALWAYS_INLINE uint32x4_t bf16_lanes(float32x4_t x) {
    const uint32x4_t u = vreinterpretq_u32_f32(x), top = vdupq_n_u32(0xffff0000);
    const uint32x4_t half = vaddq_u32(vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1)), vdupq_n_u32(0x7fff));
    const uint32x4_t rounded = vandq_u32(vaddq_u32(u, half), top);
    const uint32x4_t quiet = vandq_u32(vorrq_u32(u, vdupq_n_u32(64 << 16)), top);
    return vbslq_u32(vceqq_f32(x, x), rounded, quiet);
}
// Pairs of BF16, one in each lane: those at even positions, those at odd ones.
ALWAYS_INLINE float32x4_t even_of(uint32x4_t pairs) { return vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16)); }
ALWAYS_INLINE float32x4_t odd_of(uint32x4_t pairs) {
    return vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000)));
}

#endif
