// kernels/x86/matmul_q4_avx2.c - Q4_0 and Q4_1 panels times rows of bytes.
//
// Nibbles are unsigned, activations signed: vpmaddubsw gives sums of two in 16 bits, and eight of those fit (8 * 2 * 15 * 127 =
// 30,480), which are a whole block. Q4_0's -8 is taken from the integer sum: isum = sum q*a - 8 * sum a.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { MOST_ROWS = 4 };

// R rows times one panel of type t.
ALWAYS_INLINE void tile_q4(const struct panel_blocks t, const int R, const uint8_t *panel, size_t k, const void *x,
                           size_t act_stride, float *out, size_t out_stride) {
    const bool has_min = t.n_scales == 2;
    const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m256 acc[MOST_ROWS][2];
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(t, b);
        const uint8_t *const q = panel + panel_groups_at(t, b);
        __m256i sum[MOST_ROWS][2];
        if (b % t.per_unit == 0) prefetch(scales);
#pragma GCC unroll 4
        for (int g = 0; g < 4; g++) {
            prefetch(q + PANEL_LINE * g);
            const __m256i w0 = _mm256_loadu_si256((const void *)(q + PANEL_LINE * g));
            const __m256i w1 = _mm256_loadu_si256((const void *)(q + PANEL_LINE * g + 32));
            const __m256i lo0 = _mm256_and_si256(w0, low), hi0 = _mm256_and_si256(_mm256_srli_epi16(w0, 4), low);
            const __m256i lo1 = _mm256_and_si256(w1, low), hi1 = _mm256_and_si256(_mm256_srli_epi16(w1, 4), low);
            for (int r = 0; r < R; r++) {
                const int8_t *const a = act_at(act.a, 32 * b + 4 * (size_t)g, r, act_stride);
                const __m256i a_lo = splat_i32(a), a_hi = splat_i32(a + 16);
                const __m256i p0 = _mm256_add_epi16(_mm256_maddubs_epi16(lo0, a_lo), _mm256_maddubs_epi16(hi0, a_hi));
                const __m256i p1 = _mm256_add_epi16(_mm256_maddubs_epi16(lo1, a_lo), _mm256_maddubs_epi16(hi1, a_hi));
                sum[r][0] = g == 0 ? p0 : _mm256_add_epi16(sum[r][0], p0);
                if (R > 1) sum[r][0] = computed(sum[r][0]);
                sum[r][1] = g == 0 ? p1 : _mm256_add_epi16(sum[r][1], p1);
                if (R > 1) sum[r][1] = computed(sum[r][1]);
            }
        }
        for (int h = 0; h < 2; h++) {
            const __m256 d = load_f16(scales + 16 * h);
            for (int r = 0; r < R; r++) {
                __m256i isum = _mm256_madd_epi16(sum[r][h], ones);
                if (!has_min)
                    isum =
                        _mm256_sub_epi32(isum, _mm256_slli_epi32(splat_i32(act_at(act.b, 4 * b, r, act_stride)), 3));
                const __m256 scale = _mm256_mul_ps(d, splat_f32(act_at(act.d, 4 * b, r, act_stride)));
                acc[r][h] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(isum), acc[r][h]);
                if (has_min)
                    acc[r][h] = _mm256_fmadd_ps(load_f16(scales + 32 + 16 * h),
                                                splat_f32(act_at(act.s, 4 * b, r, act_stride)), acc[r][h]);
            }
        }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[r][h]);
}

DEFINE_TILED_MATMUL(avx2, q4_0, tile_q4, panel_q4_0)
DEFINE_TILED_MATMUL(avx2, q4_1, tile_q4, panel_q4_1)
