// kernels/arm/products_neon.h - how a set multiplies bytes, and the tiles of panels and rows built on it.
//
// A line of a panel holds 4 consecutive k of 16 rows; 16 bytes of it those of four rows, a "quarter". Weights are unpacked to signed bytes
// once for all rows of a tile, then each row multiplies them: four sums at a time, one for each output.
#ifndef RN_KERNELS_ARM_PRODUCTS_NEON_H
#define RN_KERNELS_ARM_PRODUCTS_NEON_H

#include "kernels/arm/k_blocks_neon.h"
#include "kernels/panels/tiles.h"

enum { MOST_ROWS = 4, QUARTERS = 4 };

// Sums over 4 * n_groups numbers (2, 4 or 8 groups) of four outputs, exact; a: so many activations. n_add as in struct block_type.
typedef int32x4_t (*multiply_fn)(int n_groups, int n_add, const int8x16_t w[8], const int8_t *a);

// By the instructions of every 64-bit Arm: products of 16 bits, added up there, then in pairs to 32 bits.
ALWAYS_INLINE int32x4_t multiply_long(const int n_groups, const int n_add, const int8x16_t w[8], const int8_t *a) {
    int32x4_t two_rows[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    int16x8_t p[2];
    UNROLLED for (int g = 0; g < n_groups; g++) {
        const int8x16_t ag = vreinterpretq_s8_s32(vdupq_n_s32(load_i32(a + 4 * g)));
        if (g % n_add == 0) {
            p[0] = vmull_s8(vget_low_s8(w[g]), vget_low_s8(ag));
            p[1] = vmull_high_s8(w[g], ag);
        } else {
            p[0] = vmlal_s8(p[0], vget_low_s8(w[g]), vget_low_s8(ag));
            p[1] = vmlal_high_s8(p[1], w[g], ag);
        }
        if (g % n_add < n_add - 1 && g < n_groups - 1) continue;
        two_rows[0] = vpadalq_s16(two_rows[0], p[0]);
        two_rows[1] = vpadalq_s16(two_rows[1], p[1]);
    }
    return vpaddq_s32(two_rows[0], two_rows[1]);
}

ALWAYS_INLINE float32x4_t add_scaled(float32x4_t acc, float32x4_t d, float d_a, int32x4_t isum) {
    return vfmaq_f32(acc, vmulq_n_f32(d, d_a), vcvtq_f32_s32(isum));
}

// R rows times one panel of a type with blocks of 32, a quarter at a time: its weights and the sums of a block fit registers, the sums
// over blocks are kept in memory.
ALWAYS_INLINE void tile_blocks(const struct block_type t, const multiply_fn multiply, const int R,
                               const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,
                               size_t out_stride) {
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    float acc[MOST_ROWS][PANEL_ROWS] = {{0}};
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(t.panel, b);
        const uint8_t *const groups = panel + panel_groups_at(t.panel, b);
        for (int q = 0; q < QUARTERS; q++) {
            const float32x4_t d = t.scale(scales, q);
            int8x16_t w[8];
            UNROLLED for (int g = 0; g < 8; g++) w[g] = t.weights(groups, g, q);
            UNROLLED for (int r = 0; r < R; r++) {
                const int32x4_t isum = multiply(8, t.n_add, w, act_at(act.a, 32 * b, r, act_stride));
                float32x4_t to = vld1q_f32(acc[r] + 4 * q);
                to = add_scaled(to, d, load_f32(act_at(act.d, 4 * b, r, act_stride)), isum);
                if (has_minimums(t.panel))
                    to = vfmaq_n_f32(to, minimum_of(scales, q), load_f32(act_at(act.s, 4 * b, r, act_stride)));
                vst1q_f32(acc[r] + 4 * q, to);
            }
        }
    }
    for (int r = 0; r < R; r++) memcpy(out + (size_t)r * out_stride, acc[r], sizeof acc[r]);
}

// Sum over the parts of minimum * (sum of a), the latter as 128 * high + low in `sums`: first all high bytes, then the low ones.
ALWAYS_INLINE int32x4_t minimum_sum(const multiply_fn multiply, const int n_parts, const int8_t *minimums, int q,
                                    const int8_t *sums) {
    int8x16_t m[8];
    UNROLLED for (int g = 0; g < n_parts / 4; g++) m[g] = vld1q_s8(minimums + PANEL_LINE * g + 16 * q);
    const int32x4_t high = multiply(n_parts / 4, n_parts / 4, m, sums),
                    low = multiply(n_parts / 4, n_parts / 4, m, sums + n_parts);
    return vmlaq_n_s32(low, high, 128);
}

// The same of a type with blocks of 256.
ALWAYS_INLINE void tile_k(const struct k_type t, const multiply_fn multiply, const int R, const uint8_t *panel,
                          size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    const int n_parts = 256 / t.part, n_groups = t.part / 4;
    const struct act_q8_k act = act_q8_k_view(x, k); // of row 0
    struct block_scales s;
    float acc[MOST_ROWS][PANEL_ROWS] = {{0}};
    for (size_t b = 0; b < k / 256; b++) {
        const uint8_t *const unit = panel + panel_k_unit_at(t.panel, k, b), *const d =
                                                                                panel + panel_k_d_at(t.panel, k, b);
        t.scales(unit, &s);
        for (int q = 0; q < QUARTERS; q++) {
            int32x4_t isum[MOST_ROWS];
            UNROLLED for (int r = 0; r < R; r++) isum[r] = vdupq_n_s32(0);
            for (int part = 0; part < n_parts; part++) {
                const int32x4_t scale = part_scales(&s, part, q);
                int8x16_t w[8];
                UNROLLED for (int g = 0; g < n_groups; g++) w[g] = t.weights(unit, part * n_groups + g, q);
                UNROLLED for (int r = 0; r < R; r++) {
                    const int8_t *const a = act_at(act.a, 256 * b + (size_t)(t.part * part), r, act_stride);
                    isum[r] = vmlaq_s32(isum[r], multiply(n_groups, t.n_add, w, a), scale);
                }
            }
            UNROLLED for (int r = 0; r < R; r++) {
                const float d_a = load_f32(act_at(act.d, 4 * b, r, act_stride));
                float32x4_t to = add_scaled(vld1q_f32(acc[r] + 4 * q), k_scale(t, d, q), d_a, isum[r]);
                if (t.has_min) {
                    const void *const sums = t.part == 16 ? act_at(act.b16, 32 * b, r, act_stride)
                                                          : act_at(act.b32, 16 * b, r, act_stride);
                    const int32x4_t isum_min = minimum_sum(multiply, n_parts, s.minimums, q, sums);
                    to = vfmsq_f32(to, vmulq_n_f32(minimum_of(d, q), d_a), vcvtq_f32_s32(isum_min));
                }
                vst1q_f32(acc[r] + 4 * q, to);
            }
        }
    }
    for (int r = 0; r < R; r++) memcpy(out + (size_t)r * out_stride, acc[r], sizeof acc[r]);
}

// SET_matmul_TYPE of all types of blocks.
#define DEFINE_BLOCK_MATMULS(set, multiply)                                                                          \
    ALWAYS_INLINE void tile_32(const struct block_type t, const int R, const uint8_t *panel, size_t k,               \
                               const void *x, size_t act_stride, float *out, size_t out_stride) {                    \
        tile_blocks(t, multiply, R, panel, k, x, act_stride, out, out_stride);                                       \
    }                                                                                                                \
    ALWAYS_INLINE void tile_256(const struct k_type t, const int R, const uint8_t *panel, size_t k, const void *x,   \
                                size_t act_stride, float *out, size_t out_stride) {                                  \
        tile_k(t, multiply, R, panel, k, x, act_stride, out, out_stride);                                            \
    }                                                                                                                \
    DEFINE_TILED_MATMUL(set, q8_0, tile_32, BLOCKS_Q8_0)                                                             \
    DEFINE_TILED_MATMUL(set, q4_0, tile_32, BLOCKS_Q4_0)                                                             \
    DEFINE_TILED_MATMUL(set, q4_1, tile_32, BLOCKS_Q4_1)                                                             \
    DEFINE_TILED_MATMUL(set, q5_0, tile_32, BLOCKS_Q5_0)                                                             \
    DEFINE_TILED_MATMUL(set, q5_1, tile_32, BLOCKS_Q5_1)                                                             \
    DEFINE_TILED_MATMUL(set, iq4_nl, tile_32, BLOCKS_IQ4_NL)                                                         \
    DEFINE_TILED_MATMUL(set, mxfp4, tile_32, BLOCKS_MXFP4)                                                           \
    DEFINE_TILED_MATMUL(set, q2_k, tile_256, BLOCKS_Q2_K)                                                            \
    DEFINE_TILED_MATMUL(set, q3_k, tile_256, BLOCKS_Q3_K)                                                            \
    DEFINE_TILED_MATMUL(set, q4_k, tile_256, BLOCKS_Q4_K)                                                            \
    DEFINE_TILED_MATMUL(set, q5_k, tile_256, BLOCKS_Q5_K)                                                            \
    DEFINE_TILED_MATMUL(set, q6_k, tile_256, BLOCKS_Q6_K)                                                            \
    DEFINE_TILED_MATMUL(set, iq4_xs, tile_256, BLOCKS_IQ4_XS)                                                        \
    DEFINE_TILED_MATMUL(set, iq2, tile_256, BLOCKS_IQ2)                                                              \
    DEFINE_TILED_MATMUL(set, iq1, tile_256, BLOCKS_IQ1)                                                              \
    DEFINE_TILED_MATMUL(set, iq3_xxs, tile_256, BLOCKS_IQ3_XXS)                                                      \
    DEFINE_TILED_MATMUL(set, iq3_s, tile_256, BLOCKS_IQ3_S)

#endif
