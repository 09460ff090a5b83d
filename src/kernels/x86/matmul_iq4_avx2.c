// kernels/x86/matmul_iq4_avx2.c - IQ4_NL and IQ4_XS panels times rows of bytes.
//
// A nibble is an index into a table of numbers, -127 to 113. As in matmul_q8_0_avx2.c it is multiplied as 16 * (high - 8) + low, two
// nibbles in [0, 15], each looked up in a table of its own; the sums of eight vpmaddubsw of either fit 16 bits (30,480), which are 32
// numbers: isum = 16 * sum high*a + sum low*a - 128 * sum a.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/k_blocks_avx2.h"

enum { MOST_ROWS = 4 };

// Sums of the high and the low nibbles of 32 numbers: 16 lanes, two for each row of the half panel.
struct sums {
    __m256i high, low;
};

// 4 groups of nibbles, the half panel h, times 32 numbers of R rows, a being those of row 0.
ALWAYS_INLINE void sum_32(const int R, const uint8_t *groups, int h, const int8_t *a, size_t act_stride,
                          struct sums *sum) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; g++) {
        const __m256i n = nibbles(groups, g, h), w_high = iq4_high(n), w_low = iq4_low(n);
        for (int r = 0; r < R; r++) {
            const __m256i ar = splat_i32(act_at(a, 4 * (size_t)g, r, act_stride));
            const __m256i p_high = _mm256_maddubs_epi16(w_high, ar), p_low = _mm256_maddubs_epi16(w_low, ar);
            sum[r].high = computed(g == 0 ? p_high : _mm256_add_epi16(sum[r].high, p_high));
            sum[r].low = computed(g == 0 ? p_low : _mm256_add_epi16(sum[r].low, p_low));
        }
    }
}

ALWAYS_INLINE __m256 scaled(__m256 acc, __m256i isum, const uint8_t *scales, const float *d_a) {
    return _mm256_fmadd_ps(_mm256_mul_ps(load_f16(scales), splat_f32(d_a)), _mm256_cvtepi32_ps(isum), acc);
}

ALWAYS_INLINE void tile_iq4_nl(const struct panel_blocks t, const int R, const uint8_t *panel, size_t k,
                               const void *x, size_t act_stride, float *out, size_t out_stride) {
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m256 acc[2][MOST_ROWS];
    for (int r = 0; r < R; r++) acc[0][r] = acc[1][r] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(t, b), *const groups = panel + panel_groups_at(t, b);
        if (b % t.per_unit == 0) prefetch(scales);
        for (size_t g = 0; g < t.n_groups; g++) prefetch(groups + PANEL_LINE * g);
        for (int h = 0; h < 2; h++) {
            struct sums sum[MOST_ROWS];
            sum_32(R, groups, h, act.a + 32 * b, act_stride, sum);
            for (int r = 0; r < R; r++) {
                const __m256i high = _mm256_madd_epi16(sum[r].high, _mm256_set1_epi16(16));
                const __m256i both = _mm256_add_epi32(high, _mm256_madd_epi16(sum[r].low, _mm256_set1_epi16(1)));
                const __m256i isum =
                    _mm256_sub_epi32(both, _mm256_slli_epi32(splat_i32(act_at(act.b, 4 * b, r, act_stride)), 7));
                acc[h][r] = scaled(acc[h][r], isum, scales + 16 * h, act_at(act.d, 4 * b, r, act_stride));
            }
        }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[h][r]);
}

// IQ4_XS: the scale of each 32 numbers goes into the vpmaddwd. high - 8 is made before, in 16 bits, each lane taking off its own
// share of the sum of a (act_q8_k.pairs, two for 32 numbers): 16 * 8 * 127 = 16,256 fits.

ALWAYS_INLINE void tile_iq4_xs(const struct panel_k t, const int R, const uint8_t *panel, size_t k, const void *x,
                               size_t act_stride, float *out, size_t out_stride) {
    const struct act_q8_k act = act_q8_k_view(x, k); // of row 0
    _Alignas(32) uint8_t scales[128];
    __m256 acc[2][MOST_ROWS];
    for (int r = 0; r < R; r++) acc[0][r] = acc[1][r] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        const uint8_t *const unit = panel + panel_k_unit_at(t, k, b);
        __m256i isum[2][MOST_ROWS];
        for (int r = 0; r < R; r++) isum[0][r] = isum[1][r] = _mm256_setzero_si256();
        iq4_xs_scales(unit, scales, NULL);
        prefetch(unit);
        prefetch(unit + PANEL_LINE);
        for (size_t part = 0; part < 8; part++) {
            const uint8_t *const groups = unit + t.groups[0].at + 4 * PANEL_LINE * part;
            for (size_t g = 0; g < 4; g++) prefetch(groups + PANEL_LINE * g);
            for (int h = 0; h < 2; h++) {
                struct sums sum[MOST_ROWS];
                sum_32(R, groups, h, act.a + 256 * b + 32 * part, act_stride, sum);
                const __m256i scale = pairs_of_bytes(scales + PANEL_ROWS * part + 8 * (size_t)h);
                const __m256i scale_16 = _mm256_slli_epi16(scale, 4);
                for (int r = 0; r < R; r++) {
                    const int16_t *const pairs = act_at(act.pairs, 64 * b + 8 * part, r, act_stride);
                    const __m256i sum_a = _mm256_add_epi16(splat_i32(pairs), splat_i32(pairs + 2));
                    const __m256i high = _mm256_sub_epi16(sum[r].high, _mm256_slli_epi16(sum_a, 3));
                    isum[h][r] = _mm256_add_epi32(isum[h][r], _mm256_madd_epi16(high, scale_16));
                    isum[h][r] = _mm256_add_epi32(isum[h][r], _mm256_madd_epi16(sum[r].low, scale));
                }
            }
        }
        for (int h = 0; h < 2; h++)
            for (int r = 0; r < R; r++)
                acc[h][r] = scaled(acc[h][r], isum[h][r], unit + 16 * h, act_at(act.d, 4 * b, r, act_stride));
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[h][r]);
}

DEFINE_TILED_MATMUL(avx2, iq4_nl, tile_iq4_nl, panel_iq4_nl)
DEFINE_TILED_MATMUL(avx2, iq4_xs, tile_iq4_xs, panel_iq4_xs)
