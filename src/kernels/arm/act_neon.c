// kernels/arm/act_neon.c - prepares rows of activations.
#include "kernels/act_q8.h"
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "tensor/half.h"
#include <math.h>
#include <stdbool.h>

enum { VECTORS = 8 }; // of 32 numbers

// 32 numbers from x[i] on, zeros from x[k] on.
ALWAYS_INLINE void load_32(const float *x, size_t i, size_t k, float32x4_t v[VECTORS]) {
    for (size_t j = 0; j < VECTORS; j++) v[j] = load_row(x, i + 4 * j, k);
}

// Largest magnitude of 32 floats as its bits: without their sign floats order as integers do, infinity and NaN above all.
ALWAYS_INLINE uint32_t largest_bits(const float32x4_t x[VECTORS]) {
    uint32x4_t m = vdupq_n_u32(0);
    for (int i = 0; i < VECTORS; i++)
        m = vmaxq_u32(m, vandq_u32(vreinterpretq_u32_f32(x[i]), vdupq_n_u32(0x7fffffff)));
    return vmaxvq_u32(m);
}

// 32 numbers times inverse as bytes: to nearest, ties to even.
ALWAYS_INLINE void bytes_of(const float32x4_t x[VECTORS], float inverse, int8x16_t a[2]) {
    int8x8_t part[4];
    for (int i = 0; i < 4; i++) {
        const int32x4_t q0 = vcvtnq_s32_f32(vmulq_n_f32(x[2 * i], inverse)),
                        q1 = vcvtnq_s32_f32(vmulq_n_f32(x[2 * i + 1], inverse));
        part[i] = vmovn_s16(vcombine_s16(vmovn_s32(q0), vmovn_s32(q1)));
    }
    a[0] = vcombine_s8(part[0], part[1]);
    a[1] = vcombine_s8(part[2], part[3]);
}

void neon_prepare_q8_32(const float *x, size_t k, void *act) {
    const struct act_q8_out out = act_q8_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_BLOCK) {
        const size_t b = i / ACT_Q8_BLOCK;
        float32x4_t v[VECTORS];
        int8x16_t a[2] = {vdupq_n_s8(0), vdupq_n_s8(0)};
        load_32(x, i, k, v);
        const uint32_t bits = largest_bits(v);
        const float amax = f32_from_bits(bits);
        const bool is_finite = bits < 0x7f800000u, is_kept = is_finite && amax >= ACT_Q8_MIN_AMAX;
        if (is_kept) bytes_of(v, 127 / amax, a);
        vst1q_s8(out.a + i, a[0]);
        vst1q_s8(out.a + i + 16, a[1]);
        out.d[b] = is_kept ? amax / 127 : is_finite ? 0 : NAN;
        out.b[b] = vaddlvq_s8(a[0]) + vaddlvq_s8(a[1]);
        out.s[b] = out.d[b] * (float)out.b[b];
    }
}

// The sum of 16 bytes; those of positions 0, 1 and of 2, 3 mod 4 (act_q8_k.pairs).
ALWAYS_INLINE int sum_pairs(int8x16_t a, int16_t pairs[2]) {
    const int16x8_t s = vpaddlq_s8(a);
    const int16x4_t two = vadd_s16(vget_low_s16(s), vget_high_s16(s));
    const int16x4_t one = vadd_s16(two, vext_s16(two, two, 2));
    pairs[0] = vget_lane_s16(one, 0);
    pairs[1] = vget_lane_s16(one, 1);
    return pairs[0] + pairs[1];
}

static void quantize_k_block(const float *x, size_t n, struct act_q8_k_out out, size_t block) {
    int8_t *const to = out.a + ACT_Q8_K_BLOCK * block, *const b16 = out.b16 + 32 * block,
                  *const b32 = out.b32 + 16 * block;
    uint32_t most = 0;
    for (size_t i = 0; i < ACT_Q8_K_BLOCK; i += 32) {
        float32x4_t v[VECTORS];
        load_32(x, i, n, v);
        const uint32_t bits = largest_bits(v);
        most = bits > most ? bits : most;
    }
    const float amax = f32_from_bits(most);
    const bool is_finite = most < 0x7f800000u, is_kept = is_finite && amax >= ACT_Q8_MIN_AMAX;
    out.d[block] = is_kept ? amax / 127 : is_finite ? 0 : NAN;
    for (size_t i = 0; i < ACT_Q8_K_BLOCK; i += 32) {
        float32x4_t v[VECTORS];
        int8x16_t a[2] = {vdupq_n_s8(0), vdupq_n_s8(0)};
        int sums[2];
        load_32(x, i, n, v);
        if (is_kept) bytes_of(v, 127 / amax, a);
        for (size_t j = 0; j < 2; j++) {
            const size_t part = i / 16 + j;
            vst1q_s8(to + 16 * part, a[j]);
            sums[j] = sum_pairs(a[j], out.pairs + 32 * block + 2 * part);
            act_q8_split(sums[j], b16 + part, b16 + 16 + part);
        }
        act_q8_split(sums[0] + sums[1], b32 + i / 32, b32 + 8 + i / 32);
    }
}

void neon_prepare_q8_256(const float *x, size_t k, void *act) {
    const struct act_q8_k_out out = act_q8_k_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_K_BLOCK)
        quantize_k_block(x + i, k - i < ACT_Q8_K_BLOCK ? k - i : ACT_Q8_K_BLOCK, out, i / ACT_Q8_K_BLOCK);
}

void neon_prepare_bf16(const float *x, size_t k, void *act) {
    uint16_t *const y = act;
    for (size_t i = 0; i < (k + 31) / 32 * 32; i += 4)
        vst1_u16(y + i, vshrn_n_u32(bf16_lanes(load_row(x, i, k)), 16));
}
