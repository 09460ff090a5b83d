// kernels/x86/matmul_q5_avx2.c - Q5_0, Q5_1 and MXFP4 panels times rows of bytes: what unpacks to five bits.
//
// Weights are made unsigned: the five bits as they are, or MXFP4's number + 12. Four sums of two products then fit 16 bits
// (4 * 2 * 31 * 127 = 31,496), half a block, then one vpmaddwd. What was added is taken from the sum with the block's `b`.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/blocks_avx2.h"

enum { MOST_ROWS = 4 };

// What distinguishes the types; `above`: what the weights as multiplied are above the weights meant.
struct q5_type {
    struct panel_blocks panel;
    int above;
    __m256i (*weights)(const uint8_t *groups, int g, int h);
    __m256 (*scales)(const uint8_t *scales, int h);
};

// R rows times one panel.
ALWAYS_INLINE void tile_q5(const struct q5_type t, const int R, const uint8_t *panel, size_t k, const void *x,
                           size_t act_stride, float *out, size_t out_stride) {
    const bool has_min = t.panel.n_scales == 2;
    const int H = R <= 2 ? 2 : 1; // halves of a panel that are done together: as many sums as registers hold
    const __m256i ones = _mm256_set1_epi16(1), above = _mm256_set1_epi32(t.above);
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m256 acc[MOST_ROWS][2];
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(t.panel, b);
        const uint8_t *const groups = panel + panel_groups_at(t.panel, b);
        if (b % t.panel.per_unit == 0) prefetch(scales);
        for (size_t g = 0; g < t.panel.n_groups; g++) prefetch(groups + PANEL_LINE * g);
        for (int first = 0; first < 2; first += H) {
            __m256i sum[MOST_ROWS][2], isum[MOST_ROWS][2];
#pragma GCC unroll 2
            for (int part = 0; part < 2; part++) {
#pragma GCC unroll 4
                for (int g = 0; g < 4; g++)
                    for (int h = 0; h < H; h++) {
                        const __m256i w = t.weights(groups, 4 * part + g, first + h);
                        for (int r = 0; r < R; r++) {
                            const size_t at = 32 * b + 16 * (size_t)part + 4 * (size_t)g;
                            const __m256i p = _mm256_maddubs_epi16(w, splat_i32(act_at(act.a, at, r, act_stride)));
                            sum[r][h] = computed(g == 0 ? p : _mm256_add_epi16(sum[r][h], p));
                        }
                    }
                for (int r = 0; r < R; r++)
                    for (int h = 0; h < H; h++) {
                        const __m256i p = _mm256_madd_epi16(sum[r][h], ones);
                        isum[r][h] = part == 0 ? p : _mm256_add_epi32(isum[r][h], p);
                    }
            }
            for (int h = 0; h < H; h++) {
                const __m256 d = t.scales(scales, first + h);
                for (int r = 0; r < R; r++) {
                    __m256 *const to = &acc[r][first + h];
                    if (!has_min)
                        isum[r][h] = _mm256_sub_epi32(
                            isum[r][h], _mm256_mullo_epi32(above, splat_i32(act_at(act.b, 4 * b, r, act_stride))));
                    const __m256 scale = _mm256_mul_ps(d, splat_f32(act_at(act.d, 4 * b, r, act_stride)));
                    *to = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(isum[r][h]), *to);
                    if (has_min)
                        *to = _mm256_fmadd_ps(f16_minimums(scales, first + h),
                                              splat_f32(act_at(act.s, 4 * b, r, act_stride)), *to);
                }
            }
        }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[r][h]);
}

#define Q5_TYPE(...) ((struct q5_type){__VA_ARGS__})
DEFINE_TILED_MATMUL(avx2, q5_0, tile_q5, Q5_TYPE(panel_q5_0, 16, five_bits, f16_scales))
DEFINE_TILED_MATMUL(avx2, q5_1, tile_q5, Q5_TYPE(panel_q5_1, 0, five_bits, f16_scales))
DEFINE_TILED_MATMUL(avx2, mxfp4, tile_q5, Q5_TYPE(panel_mxfp4, 12, mxfp4_weights, power_scales))
