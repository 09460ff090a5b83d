// kernels/x86/matmul_blocks_avx512vnni.c - panels of the types with blocks of 32 times rows of bytes, up to eight rows at a time.
//
// A group is unpacked once for all rows; eight integer and eight float sums stay in registers. Every line of weights is prefetched,
// the lines of scales too.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/blocks_avx512vnni.h"

enum { MOST_ROWS = 8 };

// R rows times one panel.
ALWAYS_INLINE_512 void tile_blocks(const struct block_type t, const int R, const uint8_t *panel, size_t k,
                                   const void *x, size_t act_stride, float *out, size_t out_stride) {
    const __m512i factor = start_factor(t.above);
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m512 acc[MOST_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) acc[r] = _mm512_setzero_ps();
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(t.panel, b);
        const uint8_t *const groups = panel + panel_groups_at(t.panel, b);
        __m512i isum[MOST_ROWS];
        if (b % t.panel.per_unit == 0) prefetch_twice(scales, R);
#pragma GCC unroll 9
        for (size_t g = 0; g < t.panel.n_groups; g++) prefetch_twice(groups + PANEL_LINE * g, R);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            isum[r] = t.above ? start_of_sum(factor, act_at(act.b, 4 * b, r, act_stride)) : _mm512_setzero_si512();
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) {
            const __m512i w = t.weights(groups, g);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                const void *const a = act_at(act.a, 32 * b + 4 * (size_t)g, r, act_stride);
                isum[r] = _mm512_dpbusd_epi32(isum[r], w, splat_4_bytes(a));
            }
        }
        const __m512 d = t.scale(scales);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const __m512 scale = _mm512_mul_ps(d, splat_float(act_at(act.d, 4 * b, r, act_stride)));
            acc[r] = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(isum[r]), acc[r]);
            if (has_minimums(t.panel))
                acc[r] =
                    _mm512_fmadd_ps(minimum_of(scales), splat_float(act_at(act.s, 4 * b, r, act_stride)), acc[r]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) _mm512_storeu_ps(out + (size_t)r * out_stride, acc[r]);
}

DEFINE_TILED_MATMUL_8(avx512vnni, q8_0, tile_blocks, BLOCKS_Q8_0)
DEFINE_TILED_MATMUL_8(avx512vnni, q4_0, tile_blocks, BLOCKS_Q4_0)
DEFINE_TILED_MATMUL_8(avx512vnni, q4_1, tile_blocks, BLOCKS_Q4_1)
DEFINE_TILED_MATMUL_8(avx512vnni, q5_0, tile_blocks, BLOCKS_Q5_0)
DEFINE_TILED_MATMUL_8(avx512vnni, q5_1, tile_blocks, BLOCKS_Q5_1)
DEFINE_TILED_MATMUL_8(avx512vnni, iq4_nl, tile_blocks, BLOCKS_IQ4_NL)
DEFINE_TILED_MATMUL_8(avx512vnni, mxfp4, tile_blocks, BLOCKS_MXFP4)
