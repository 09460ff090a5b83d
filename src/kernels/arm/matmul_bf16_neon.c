// kernels/arm/matmul_bf16_neon.c - BF16 panels times rows of BF16, in the order of docs/arithmetic.md: for each 32 of k a chain
// over the even and one over the odd positions, then their sum to the accumulator.
//
// A 32-bit lane of a panel holds the pair (even, odd) of one output. (`bfdot` and `bfmmla` sum in another order: not used.)
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "kernels/panels/tiles.h"

enum { MOST_ROWS = 2, VECTORS = 4, PAIRS = 16 }; // pairs of one chain

// The activations of one step of 32 as floats, even positions first.
ALWAYS_INLINE void split_pairs(const void *x, float a[2][PAIRS]) {
    UNROLLED for (int i = 0; i < PAIRS; i += 4) {
        const uint32x4_t pairs = vreinterpretq_u32_u8(vld1q_u8((const uint8_t *)x + 4 * i));
        vst1q_f32(a[0] + i, even_of(pairs));
        vst1q_f32(a[1] + i, odd_of(pairs));
    }
}

// R rows times one panel.
ALWAYS_INLINE void tile(const int R, const uint8_t *panel, size_t k, const void *x, size_t x_stride, float *out,
                        size_t out_stride) {
    float32x4_t acc[MOST_ROWS][VECTORS];
    UNROLLED for (int r = 0; r < R; r++) { UNROLLED for (int v = 0; v < VECTORS; v++) acc[r][v] = vdupq_n_f32(0); }
    for (size_t b = 0; b < k; b += 32) {
        float32x4_t even[MOST_ROWS][VECTORS], odd[MOST_ROWS][VECTORS];
        float a[MOST_ROWS][2][PAIRS];
        UNROLLED for (int r = 0; r < R; r++) {
            split_pairs(act_at(x, 2 * b, r, x_stride), a[r]);
            UNROLLED for (int v = 0; v < VECTORS; v++) even[r][v] = odd[r][v] = vdupq_n_f32(0);
        }
        for (size_t i = 0; i < PAIRS; i++) {
            const uint8_t *const at = panel + PANEL_LINE * (b / 2 + i);
            UNROLLED for (int v = 0; v < VECTORS; v++) {
                const uint32x4_t pairs = vreinterpretq_u32_u8(vld1q_u8(at + 16 * v));
                UNROLLED for (int r = 0; r < R; r++) {
                    even[r][v] = vfmaq_n_f32(even[r][v], even_of(pairs), a[r][0][i]);
                    odd[r][v] = vfmaq_n_f32(odd[r][v], odd_of(pairs), a[r][1][i]);
                }
            }
        }
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int v = 0; v < VECTORS; v++) acc[r][v] =
                vaddq_f32(acc[r][v], vaddq_f32(even[r][v], odd[r][v]));
        }
    }
    UNROLLED for (int r = 0; r < R; r++) {
        UNROLLED for (int v = 0; v < VECTORS; v++) vst1q_f32(out + (size_t)r * out_stride + 4 * v, acc[r][v]);
    }
}

static void tile_1(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    tile(1, panel, k, x, act_stride, out, out_stride);
}
static void tile_2(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    tile(2, panel, k, x, act_stride, out, out_stride);
}
DEFINE_MATMUL_OF_TILES(neon, bf16, MOST_ROWS, tile_1, tile_2)
