// kernels/arm/k_blocks_neon.h - blocks of 256 out of panels: groups of weights as signed bytes, scales and minimums as bytes.
//
// Group n (0..63) of a block holds numbers 4 n .. 4 n + 3. Where the bits lie: panels/panel_k.h.
#ifndef RN_KERNELS_ARM_K_BLOCKS_NEON_H
#define RN_KERNELS_ARM_K_BLOCKS_NEON_H

#include "kernels/arm/blocks_neon.h"
#include "kernels/panels/panel_iq.h"

// The integers of a block: scales [part][16 rows], minimums [part / 4][16 rows][4].
struct block_scales {
    int8_t scales[256], minimums[256];
};

// A type: its panel; numbers of a part; n_add as in struct block_type; whether it has minimums; what reads
// the scales, and group n of rows 4 q .. 4 q + 3.
struct k_type {
    struct panel_k panel;
    int part, n_add;
    bool has_min;
    void (*scales)(const uint8_t *unit, struct block_scales *to);
    int8x16_t (*weights)(const uint8_t *unit, int n, int q);
    float unit; // the fraction that d is multiplied by; 0: none
};

// d of rows 4 q ..
ALWAYS_INLINE float32x4_t k_scale(const struct k_type t, const uint8_t *d, int q) {
    return t.unit > 0 ? vmulq_n_f32(f16_scale(d, q), t.unit) : f16_scale(d, q);
}

// Weights -------------------------------------------------------------------------------------------------------------------

ALWAYS_INLINE int8x16_t q2_k_weights(const uint8_t *unit, int n, int q) {
    const uint8x16_t line = quarter_line(unit + panel_q2_k.groups[0].at, n / 32 * 8 + n % 8, q);
    return less(field(line, n % 32 / 8 * 2, 0, 3), 0);
}
ALWAYS_INLINE uint8x16_t three_bits(const uint8_t *unit, int n, int q) {
    const uint8x16_t low = quarter_line(unit + panel_q3_k.groups[1].at, n / 32 * 8 + n % 8, q),
                     third = quarter_line(unit + panel_q3_k.groups[0].at, n % 8, q);
    return vorrq_u8(field(low, n % 32 / 8 * 2, 0, 3), field(third, n / 8, 2, 4));
}
ALWAYS_INLINE int8x16_t q3_k_weights(const uint8_t *unit, int n, int q) { return less(three_bits(unit, n, q), 4); }
ALWAYS_INLINE int8x16_t q4_k_weights(const uint8_t *unit, int n, int q) {
    const uint8x16_t line = quarter_line(unit + panel_q4_k.groups[0].at, n / 16 * 8 + n % 8, q);
    return less(field(line, n / 8 % 2 * 4, 0, 15), 0);
}
ALWAYS_INLINE int8x16_t q5_k_weights(const uint8_t *unit, int n, int q) {
    const uint8x16_t low = quarter_line(unit + panel_q5_k.groups[1].at, n / 16 * 8 + n % 8, q),
                     fifth = quarter_line(unit + panel_q5_k.groups[0].at, n % 8, q);
    return less(vorrq_u8(field(low, n / 8 % 2 * 4, 0, 15), field(fifth, n / 8, 4, 16)), 0);
}
ALWAYS_INLINE int8x16_t q6_k_weights(const uint8_t *unit, int n, int q) {
    const int h = n / 32, j = n % 32 / 8, g = n % 8;
    const uint8x16_t low = quarter_line(unit + panel_q6_k.groups[0].at, 16 * h + j % 2 * 8 + g, q),
                     high = quarter_line(unit + panel_q6_k.groups[1].at, 8 * h + g, q);
    return less(vorrq_u8(field(low, j / 2 * 4, 0, 15), field(high, 2 * j, 4, 0x30)), 32);
}
ALWAYS_INLINE uint8x16_t four_bits(const uint8_t *unit, int n, int q) {
    const uint8x16_t line = quarter_line(unit + panel_iq4_xs.groups[0].at, n / 8 * 4 + n % 4, q);
    return field(line, n / 4 % 2 * 4, 0, 15);
}
ALWAYS_INLINE int8x16_t iq4_xs_weights(const uint8_t *unit, int n, int q) {
    return looked_up(iq4_values, four_bits(unit, n, q));
}
ALWAYS_INLINE int8x16_t iq3_xxs_weights(const uint8_t *unit, int n, int q) {
    return looked_up(iq3_xxs_values, four_bits(unit, n, q));
}
ALWAYS_INLINE int8x16_t iq3_s_weights(const uint8_t *unit, int n, int q) {
    return looked_up(iq3_s_values, four_bits(unit, n, q));
}
ALWAYS_INLINE int8x16_t iq2_weights(const uint8_t *unit, int n, int q) {
    return looked_up(iq2_values, three_bits(unit, n, q));
}
ALWAYS_INLINE int8x16_t iq1_weights(const uint8_t *unit, int n, int q) {
    return looked_up(iq1_values, three_bits(unit, n, q));
}

// Scales and minimums: i counts vectors of 16 entries -----------------------------------------------------------------------

ALWAYS_INLINE void q2_k_scales(const uint8_t *unit, struct block_scales *to) {
    for (int i = 0; i < 16; i++) {
        const uint8x16_t v = vld1q_u8(unit + panel_q2_k.low_at + 16 * i);
        vst1q_s8(to->scales + 16 * i, less(field(v, 0, 0, 15), 0));
        vst1q_s8(to->minimums + 16 * i, less(field(v, 4, 0, 15), 0));
    }
}
// Entry e of n_low bytes of low nibbles and n_high bytes of upper bits, 32 taken off.
ALWAYS_INLINE int8x16_t six_bits(const uint8_t *low, int n_low, const uint8_t *high, int n_high, int e) {
    const uint8x16_t four = field(vld1q_u8(low + e % n_low), e / n_low * 4, 0, 15);
    return less(vorrq_u8(four, field(vld1q_u8(high + e % n_high), e / n_high * 2, 4, 0x30)), 32);
}
ALWAYS_INLINE void q3_k_scales(const uint8_t *unit, struct block_scales *to) {
    for (int e = 0; e < 256; e += 16)
        vst1q_s8(to->scales + e, six_bits(unit + panel_q3_k.low_at, 128, unit + panel_q3_k.high_at, 64, e));
}
ALWAYS_INLINE void q4_k_scales(const uint8_t *unit, struct block_scales *to) {
    for (int e = 0; e < 128; e += 16) {
        const uint8x16_t low = vld1q_u8(unit + panel_q4_k.low_at + e),
                         high = vld1q_u8(unit + panel_q4_k.high_at + e % 64);
        const int at = e / 64 * 2; // of the upper bits of the scale; those of the minimum lie four bits on
        vst1q_s8(to->scales + e, less(vorrq_u8(field(low, 0, 0, 15), field(high, at, 4, 0x30)), 0));
        vst1q_s8(to->minimums + e, less(vorrq_u8(field(low, 4, 0, 15), field(high, at + 4, 4, 0x30)), 0));
    }
}
ALWAYS_INLINE void q6_k_scales(const uint8_t *unit, struct block_scales *to) {
    memcpy(to->scales, unit + panel_q6_k.low_at, sizeof to->scales);
}
ALWAYS_INLINE void iq4_xs_scales(const uint8_t *unit, struct block_scales *to) {
    for (int e = 0; e < 128; e += 16)
        vst1q_s8(to->scales + e, six_bits(unit + panel_iq4_xs.low_at, 64, unit + panel_iq4_xs.high_at, 32, e));
}

// The scales of a part of rows 4 q ..
ALWAYS_INLINE int32x4_t part_scales(const struct block_scales *s, int part, int q) {
    return load_4_bytes(s->scales + PANEL_ROWS * part + 4 * q);
}

#define K_TYPE(...)    ((struct k_type){__VA_ARGS__})
#define BLOCKS_Q2_K    K_TYPE(panel_q2_k, 16, 4, true, q2_k_scales, q2_k_weights)
#define BLOCKS_Q3_K    K_TYPE(panel_q3_k, 16, 4, false, q3_k_scales, q3_k_weights)
#define BLOCKS_Q4_K    K_TYPE(panel_q4_k, 32, 8, true, q4_k_scales, q4_k_weights)
#define BLOCKS_Q5_K    K_TYPE(panel_q5_k, 32, 8, true, q4_k_scales, q5_k_weights)
#define BLOCKS_Q6_K    K_TYPE(panel_q6_k, 16, 4, false, q6_k_scales, q6_k_weights)
#define BLOCKS_IQ4_XS  K_TYPE(panel_iq4_xs, 32, 2, false, iq4_xs_scales, iq4_xs_weights)
#define BLOCKS_IQ2     K_TYPE(panel_q3_k, 16, 4, false, q3_k_scales, iq2_weights, IQ2_UNIT)
#define BLOCKS_IQ1     K_TYPE(panel_q3_k, 16, 4, false, q3_k_scales, iq1_weights, IQ1_UNIT)
#define BLOCKS_IQ3_XXS K_TYPE(panel_iq4_xs, 32, 4, false, iq4_xs_scales, iq3_xxs_weights, IQ3_XXS_UNIT)
#define BLOCKS_IQ3_S   K_TYPE(panel_iq4_xs, 32, 8, false, iq4_xs_scales, iq3_s_weights, IQ3_S_UNIT)

#endif
