// kernels/x86/matmul_iq_avx2.c - IQ2 and IQ3 panels (panels/panel_iq.h) times rows of bytes.
//
// A number is a place in a table. As in matmul_iq4_avx2.c it is multiplied as 16 * (high - 8) + low, two nibbles in [0, 15], each looked up in a
// table of its own; the sums of either fit 16 bits (32 numbers: 30,480). high - 8 is made before the scale, each lane taking off its own share
// of the sum of a (act_q8_k.pairs, one for 16 numbers).
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/k_blocks_avx2.h"

enum { MOST_ROWS = 4 };

// A type: its panel, numbers of a part, its table, the fraction that d is multiplied by; what reads scales, and the places of numbers.
struct table_type {
    struct panel_k panel;
    int part;
    const int8_t *values;
    float unit;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *room, uint8_t *mins);
    __m256i (*places)(const uint8_t *unit, int part, int g, int h);
};

// A part's products with R rows, multiplied by its scales and added to isum; a and pairs: of row 0.
ALWAYS_INLINE void add_part(const struct table_type t, const int R, const uint8_t *unit, const uint8_t *scales,
                            int part, int h, const int8_t *a, const int16_t *pairs, size_t act_stride,
                            __m256i *isum) {
    __m256i high[MOST_ROWS], low[MOST_ROWS];
    for (int r = 0; r < R; r++) high[r] = low[r] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int g = 0; g < t.part / 4; g++) {
        const __m256i places = t.places(unit, part, g, h);
        const __m256i w_high = table_high(t.values, places), w_low = table_low(t.values, places);
        for (int r = 0; r < R; r++) {
            const __m256i ar = splat_i32(act_at(a, 4 * (size_t)g, r, act_stride));
            const __m256i p_high = _mm256_maddubs_epi16(w_high, ar), p_low = _mm256_maddubs_epi16(w_low, ar);
            high[r] = computed(_mm256_add_epi16(high[r], p_high));
            low[r] = computed(_mm256_add_epi16(low[r], p_low));
        }
    }
    const __m256i scale = pairs_of_bytes(scales + PANEL_ROWS * part + 8 * h), scale_16 = _mm256_slli_epi16(scale, 4);
    for (int r = 0; r < R; r++) {
        const int16_t *const of_row = act_at(pairs, 0, r, act_stride);
        __m256i sum_a = splat_i32(of_row);
        if (t.part == 32) sum_a = _mm256_add_epi16(sum_a, splat_i32(of_row + 2));
        const __m256i less = _mm256_sub_epi16(high[r], _mm256_slli_epi16(sum_a, 3));
        isum[r] = _mm256_add_epi32(isum[r], _mm256_madd_epi16(less, scale_16));
        isum[r] = _mm256_add_epi32(isum[r], _mm256_madd_epi16(low[r], scale));
    }
}

ALWAYS_INLINE void tile_table(const struct table_type t, const int R, const uint8_t *panel, size_t k, const void *x,
                              size_t act_stride, float *out, size_t out_stride) {
    const int n_parts = 256 / t.part, n_lines = (int)t.panel.unit_bytes / PANEL_LINE;
    const struct act_q8_k act = act_q8_k_view(x, k); // of row 0
    _Alignas(32) uint8_t room[256];
    __m256 acc[MOST_ROWS][2];
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        const uint8_t *const unit = panel + panel_k_unit_at(t.panel, k, b), *const d =
                                                                                panel + panel_k_d_at(t.panel, k, b);
        const uint8_t *const scales = t.scales(unit, room, NULL);
        __m256i isum[2][MOST_ROWS];
        for (int r = 0; r < R; r++) isum[0][r] = isum[1][r] = _mm256_setzero_si256();
        if (t.panel.d_in_front && b % 2 == 0) prefetch(d);
        for (int part = 0; part < n_parts; part++) {
            for (int l = part * n_lines / n_parts; l < (part + 1) * n_lines / n_parts; l++)
                prefetch(unit + PANEL_LINE * l);
            for (int h = 0; h < 2; h++)
                add_part(t, R, unit, scales, part, h, act.a + 256 * b + t.part * part,
                         act.pairs + 32 * b + t.part / 8 * part, act_stride, isum[h]);
        }
        for (int h = 0; h < 2; h++)
            for (int r = 0; r < R; r++) {
                const __m256 d_w = _mm256_mul_ps(load_f16(d + 16 * h), _mm256_set1_ps(t.unit));
                const __m256 scale = _mm256_mul_ps(d_w, splat_f32(act_at(act.d, 4 * b, r, act_stride)));
                acc[r][h] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(isum[h][r]), acc[r][h]);
            }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[r][h]);
}

#define TABLE_TYPE(...) ((struct table_type){__VA_ARGS__})
DEFINE_TILED_MATMUL(avx2, iq2, tile_table,
                    TABLE_TYPE(panel_q3_k, 16, iq2_values, IQ2_UNIT, q3_k_scales, q3_k_weights))
DEFINE_TILED_MATMUL(avx2, iq3_xxs, tile_table,
                    TABLE_TYPE(panel_iq4_xs, 32, iq3_xxs_values, IQ3_XXS_UNIT, iq4_xs_scales, iq4_xs_nibbles))
DEFINE_TILED_MATMUL(avx2, iq3_s, tile_table,
                    TABLE_TYPE(panel_iq4_xs, 32, iq3_s_values, IQ3_S_UNIT, iq4_xs_scales, iq4_xs_nibbles))
