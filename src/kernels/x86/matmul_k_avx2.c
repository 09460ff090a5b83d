// kernels/x86/matmul_k_avx2.c - Q2_K, Q3_K, Q4_K, Q5_K, Q6_K and IQ1 panels times rows of bytes.
//
// Weights are unsigned bytes. The sums of two products that vpmaddubsw gives are added in 16 bits over a part of 16 or 32 numbers, then
// one vpmaddwd multiplies by the part's scale. They fit:
//   Q2_K   4 * 2 * 3 * 127 = 3,048               Q4_K   8 * 2 * 15 * 127 = 30,480
//   Q3_K   (q - 4) as below: 4,064               Q5_K   4 * 2 * 31 * 127 = 31,496, half a part at a time
//   Q6_K   (q - 32): 8 * 32 * 127 = 32,512       IQ1    (number + 16) 4 * 2 * 25 * 127 = 25,400
// What Q3_K and Q6_K have too much, 4 or 32 times the sum of a, is taken off inside the 16 bits, each lane's share from the lane
// (act_q8_k.pairs): additions wrap around, and only the end must fit.
#include "kernels/panels/panel_iq.h"
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/k_blocks_avx2.h"

enum { MOST_ROWS = 4 };

// A type: its panel; numbers of a part; how many parts are unrolled, so that shifts are constants; groups whose products add up before
// the scale; what weights have too much, as a shift (0: nothing); whether it has minimums; what reads the scales and the weights.
struct k_type {
    struct panel_k panel;
    int part, n_unrolled, n_add, above_shift;
    bool has_min;
    const uint8_t *(*scales)(const uint8_t *unit, uint8_t *room, uint8_t *mins);
    __m256i (*weights)(const uint8_t *unit, int part, int g, int h);
    float unit; // the fraction that d is multiplied by; 0: none
};

// The tile ------------------------------------------------------------------------------------------------------------------

// Sum over the parts of min * (sum of a), the latter as 128 * high + low: n parts, whose high and low bytes lie n apart.
ALWAYS_INLINE __m256i min_sum(const uint8_t *mins, const int8_t *b, int n, int h) {
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int i = 0; i < n; i += 4) {
        const __m256i m = load_line(mins + PANEL_ROWS * i + 32 * h);
        high = _mm256_add_epi16(high, _mm256_maddubs_epi16(m, splat_i32(b + i)));
        low = _mm256_add_epi16(low, _mm256_maddubs_epi16(m, splat_i32(b + n + i)));
    }
    return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(128)),
                            _mm256_madd_epi16(low, _mm256_set1_epi16(1)));
}

// A part's products with R rows, multiplied by its scales and added to isum: H halves of the panel from `first` on, a and pairs being
// those of row 0.
ALWAYS_INLINE void add_part(const struct k_type t, const int R, const int H, const uint8_t *unit,
                            const uint8_t *scales, int part, int first, const int8_t *a, const int16_t *pairs,
                            size_t act_stride, __m256i (*isum)[2]) {
    __m256i sum[MOST_ROWS][2];
#pragma GCC unroll 8
    for (int g = 0; g < t.part / 4; g++) {
        for (int h = 0; h < H; h++) {
            const __m256i w = t.weights(unit, part, g, first + h);
            for (int r = 0; r < R; r++) {
                const __m256i p = _mm256_maddubs_epi16(w, splat_i32(act_at(a, 4 * (size_t)g, r, act_stride)));
                sum[r][h] = computed(g % t.n_add == 0 ? p : _mm256_add_epi16(sum[r][h], p));
            }
        }
        if (g % t.n_add != t.n_add - 1) continue;
        for (int h = 0; h < H; h++) {
            const __m256i scale = pairs_of_bytes(scales + PANEL_ROWS * part + 8 * (first + h));
            for (int r = 0; r < R; r++) {
                const __m256i above = _mm256_slli_epi16(splat_i32(act_at(pairs, 0, r, act_stride)), t.above_shift);
                const __m256i s = t.above_shift ? _mm256_sub_epi16(sum[r][h], above) : sum[r][h];
                isum[r][h] = _mm256_add_epi32(isum[r][h], _mm256_madd_epi16(s, scale));
            }
        }
    }
}

// R rows times one panel.
ALWAYS_INLINE void tile_k(const struct k_type t, const int R, const uint8_t *panel, size_t k, const void *x,
                          size_t act_stride, float *out, size_t out_stride) {
    const int H = R <= 2 ? 2 : 1; // halves of a panel that are done together: as many sums as registers hold
    const int n_parts = 256 / t.part, n_lines = (int)t.panel.unit_bytes / PANEL_LINE;
    const struct act_q8_k act = act_q8_k_view(x, k); // of row 0
    _Alignas(32) uint8_t room[256], mins[256];
    __m256 acc[MOST_ROWS][2];
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 256; b++) {
        const uint8_t *const unit = panel + panel_k_unit_at(t.panel, k, b), *const d =
                                                                                panel + panel_k_d_at(t.panel, k, b);
        const uint8_t *const scales = t.scales(unit, room, mins);
        if (t.panel.d_in_front && b % 2 == 0) prefetch(d);
        for (int first = 0; first < 2; first += H) {
            __m256i isum[MOST_ROWS][2];
            for (int r = 0; r < R; r++) isum[r][0] = isum[r][1] = _mm256_setzero_si256();
            for (int from = 0; from < n_parts; from += t.n_unrolled) {
#pragma GCC unroll 8
                for (int part = from; part < from + t.n_unrolled; part++) {
                    for (int l = part * n_lines / n_parts; first == 0 && l < (part + 1) * n_lines / n_parts; l++)
                        prefetch(unit + PANEL_LINE * l);
                    add_part(t, R, H, unit, scales, part, first, act.a + 256 * b + t.part * part,
                             act.pairs + 32 * b + 2 * part, act_stride, isum);
                }
            }
            for (int h = 0; h < H; h++)
                for (int r = 0; r < R; r++) {
                    __m256 *const to = &acc[r][first + h];
                    const __m256 d_a = splat_f32(act_at(act.d, 4 * b, r, act_stride));
                    const __m256 half = load_f16(d + 16 * (first + h)),
                                 d_w = t.unit > 0 ? _mm256_mul_ps(half, _mm256_set1_ps(t.unit)) : half;
                    const __m256 scale = _mm256_mul_ps(d_w, d_a);
                    *to = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(isum[r][h]), *to);
                    if (!t.has_min) continue;
                    const int8_t *const sums =
                        act_at(t.part == 16 ? act.b16 + 32 * b : act.b32 + 16 * b, 0, r, act_stride);
                    const __m256 min = _mm256_mul_ps(load_f16(d + 32 + 16 * (first + h)), d_a);
                    *to = _mm256_fnmadd_ps(min, _mm256_cvtepi32_ps(min_sum(mins, sums, n_parts, first + h)), *to);
                }
        }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[r][h]);
}

#define K_TYPE(...) ((struct k_type){__VA_ARGS__})
DEFINE_TILED_MATMUL(avx2, q2_k, tile_k, K_TYPE(panel_q2_k, 16, 8, 4, 0, true, q2_k_scales, q2_k_weights))
DEFINE_TILED_MATMUL(avx2, q3_k, tile_k, K_TYPE(panel_q3_k, 16, 8, 4, 2, false, q3_k_scales, q3_k_weights))
DEFINE_TILED_MATMUL(avx2, q4_k, tile_k, K_TYPE(panel_q4_k, 32, 2, 8, 0, true, q4_k_scales, q4_k_weights))
DEFINE_TILED_MATMUL(avx2, q5_k, tile_k, K_TYPE(panel_q5_k, 32, 4, 4, 0, true, q4_k_scales, q5_k_weights))
DEFINE_TILED_MATMUL(avx2, q6_k, tile_k, K_TYPE(panel_q6_k, 16, 8, 4, 5, false, q6_k_scales, q6_k_weights))
DEFINE_TILED_MATMUL(avx2, iq1, tile_k, K_TYPE(panel_q3_k, 16, 8, 4, 4, false, q3_k_scales, iq1_weights, IQ1_UNIT))
