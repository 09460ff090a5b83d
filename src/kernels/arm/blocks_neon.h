// kernels/arm/blocks_neon.h - the types with blocks of 32 out of panels: groups of weights as signed bytes, scales as floats.
#ifndef RN_KERNELS_ARM_BLOCKS_NEON_H
#define RN_KERNELS_ARM_BLOCKS_NEON_H

#include "kernels/arm/lanes_neon.h"
#include "kernels/panels/panel.h"
#include "tensor/blocks.h"

// weights: numbers 4 g .. 4 g + 3 of a block, of rows 4 q .. 4 q + 3 of the panel; scale: of these rows. Both read what panel_groups_at,
// panel_scales_at point to. n_add: so many products with activations fit 16 bits, |weight| * 127 each.
struct block_type {
    struct panel_blocks panel;
    int n_add;
    int8x16_t (*weights)(const uint8_t *groups, int g, int q);
    float32x4_t (*scale)(const uint8_t *scales, int q);
};

// Rows 4 q .. of line i.
ALWAYS_INLINE uint8x16_t quarter_line(const uint8_t *groups, int i, int q) {
    return vld1q_u8(groups + PANEL_LINE * i + 16 * q);
}
// Shifts bits from `at` on to bit `to` in each byte, then keeps those of `mask`.
ALWAYS_INLINE uint8x16_t field(uint8x16_t v, int at, int to, int mask) {
    const uint8x16_t moved = at > to ? v >> (uint8_t)(at - to) : v << (uint8_t)(to - at);
    return vandq_u8(moved, vdupq_n_u8((uint8_t)mask));
}
ALWAYS_INLINE int8x16_t less(uint8x16_t v, int n) { return vreinterpretq_s8_u8(vsubq_u8(v, vdupq_n_u8((uint8_t)n))); }
ALWAYS_INLINE int8x16_t looked_up(const int8_t *numbers, uint8x16_t indices) {
    return vqtbl1q_s8(vld1q_s8(numbers), indices);
}

// Half a byte in each: low halves are numbers 0 .. 15, high ones 16 .. 31.
ALWAYS_INLINE uint8x16_t nibbles(const uint8_t *groups, int g, int q) {
    return field(quarter_line(groups, g % 4, q), g / 4 * 4, 0, 15);
}
ALWAYS_INLINE uint8x16_t fifth_and_nibbles(const uint8_t *groups, int g, int q) {
    return vorrq_u8(nibbles(groups + PANEL_LINE, g, q), field(quarter_line(groups, 0, q), g, 4, 16));
}

ALWAYS_INLINE int8x16_t q8_0_weights(const uint8_t *groups, int g, int q) {
    return vreinterpretq_s8_u8(quarter_line(groups, g, q));
}
ALWAYS_INLINE int8x16_t q4_0_weights(const uint8_t *groups, int g, int q) { return less(nibbles(groups, g, q), 8); }
ALWAYS_INLINE int8x16_t q4_1_weights(const uint8_t *groups, int g, int q) { return less(nibbles(groups, g, q), 0); }
ALWAYS_INLINE int8x16_t q5_0_weights(const uint8_t *groups, int g, int q) {
    return less(fifth_and_nibbles(groups, g, q), 16);
}
ALWAYS_INLINE int8x16_t q5_1_weights(const uint8_t *groups, int g, int q) {
    return less(fifth_and_nibbles(groups, g, q), 0);
}
ALWAYS_INLINE int8x16_t iq4_nl_weights(const uint8_t *groups, int g, int q) {
    return looked_up(iq4_values, nibbles(groups, g, q));
}
ALWAYS_INLINE int8x16_t mxfp4_weights(const uint8_t *groups, int g, int q) {
    return looked_up(mxfp4_values, nibbles(groups, g, q));
}

ALWAYS_INLINE float32x4_t f16_scale(const uint8_t *scales, int q) { return load_f16(scales + 8 * q); }
// 2^(e - 128) by its bits; 0 for the two smallest, which are denormal.
ALWAYS_INLINE float32x4_t power_scale(const uint8_t *scales, int q) {
    const uint32x4_t one = vdupq_n_u32(1),
                     e = vandq_u32(vreinterpretq_u32_s32(load_4_bytes(scales + 4 * q)), vdupq_n_u32(255));
    return vreinterpretq_f32_u32(vshlq_n_u32(vsubq_u32(vmaxq_u32(e, one), one), 23));
}
// Minimums lie after the 16 scales.
ALWAYS_INLINE float32x4_t minimum_of(const uint8_t *scales, int q) { return f16_scale(scales + 2 * PANEL_ROWS, q); }
ALWAYS_INLINE bool has_minimums(struct panel_blocks panel) { return panel.n_scales == 2; }

#define BLOCK_TYPE(...) ((struct block_type){__VA_ARGS__})
#define BLOCKS_Q8_0     BLOCK_TYPE(panel_q8_0, 2, q8_0_weights, f16_scale)
#define BLOCKS_Q4_0     BLOCK_TYPE(panel_q4_0, 8, q4_0_weights, f16_scale)
#define BLOCKS_Q4_1     BLOCK_TYPE(panel_q4_1, 8, q4_1_weights, f16_scale)
#define BLOCKS_Q5_0     BLOCK_TYPE(panel_q5_0, 8, q5_0_weights, f16_scale)
#define BLOCKS_Q5_1     BLOCK_TYPE(panel_q5_1, 8, q5_1_weights, f16_scale)
#define BLOCKS_IQ4_NL   BLOCK_TYPE(panel_iq4_nl, 2, iq4_nl_weights, f16_scale)
#define BLOCKS_MXFP4    BLOCK_TYPE(panel_mxfp4, 8, mxfp4_weights, power_scale)

#endif
