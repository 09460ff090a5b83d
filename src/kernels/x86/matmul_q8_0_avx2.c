// kernels/x86/matmul_q8_0_avx2.c - Q8_0 panels times rows of bytes.
//
// vpmaddubsw multiplies unsigned by signed. A signed weight w is brought to it in one of two exact ways:
//   one row:       |w| times (a with w's sign): 2 * 128 * 127 = 32,512 fits 16 bits, once; -128 stands for 128 as a byte.
//   several rows:  w = 16 * (high - 8) + low, two nibbles in [0, 15], split once for all rows; eight products of each fit 16
//                  bits (30,480), which are a whole block: isum = 16 * sum high*a + sum low*a - 128 * sum a.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { MOST_ROWS = 4 };

ALWAYS_INLINE __m256 scaled(__m256 acc, __m256i isum, const uint8_t *scales, const float *d_a) {
    return _mm256_fmadd_ps(_mm256_mul_ps(load_f16(scales), splat_f32(d_a)), _mm256_cvtepi32_ps(isum), acc);
}

static void tile_1(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    const struct act_q8 act = act_q8_view(x, k);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    (void)act_stride, (void)out_stride;
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(panel_q8_0, b);
        const uint8_t *const q = panel + panel_groups_at(panel_q8_0, b);
        __m256i sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        if (b % 2 == 0) prefetch(scales);
#pragma GCC unroll 8
        for (int g = 0; g < 8; g++) {
            prefetch(q + PANEL_LINE * g);
            const __m256i a = splat_i32(act.a + 32 * b + 4 * g);
            for (int h = 0; h < 2; h++) {
                const __m256i w = _mm256_loadu_si256((const void *)(q + PANEL_LINE * g + 32 * h));
                const __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
                sum[h] = computed(_mm256_add_epi32(sum[h], _mm256_madd_epi16(p, ones)));
            }
        }
        for (int h = 0; h < 2; h++) acc[h] = scaled(acc[h], sum[h], scales + 16 * h, act.d + b);
    }
    for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + 8 * h, acc[h]);
}

ALWAYS_INLINE void tile_several(const int R, const uint8_t *panel, size_t k, const void *x, size_t act_stride,
                                float *out, size_t out_stride) {
    const __m256i low = _mm256_set1_epi8(15), top = _mm256_set1_epi8(-128);
    const struct act_q8 act = act_q8_view(x, k); // of row 0
    __m256 acc[MOST_ROWS][2];
    for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k / 32; b++) {
        const uint8_t *const scales = panel + panel_scales_at(panel_q8_0, b);
        const uint8_t *const q = panel + panel_groups_at(panel_q8_0, b);
        if (b % 2 == 0) prefetch(scales);
        for (int h = 0; h < 2; h++) {
            __m256i sum_lo[MOST_ROWS], sum_hi[MOST_ROWS];
#pragma GCC unroll 8
            for (int g = 0; g < 8; g++) {
                if (h == 0) prefetch(q + PANEL_LINE * g);
                const __m256i w = _mm256_loadu_si256((const void *)(q + PANEL_LINE * g + 32 * h));
                const __m256i lo = _mm256_and_si256(w, low);
                const __m256i hi = _mm256_and_si256(_mm256_srli_epi16(_mm256_xor_si256(w, top), 4), low);
                for (int r = 0; r < R; r++) {
                    const __m256i a = splat_i32(act_at(act.a, 32 * b + 4 * (size_t)g, r, act_stride));
                    const __m256i p_lo = _mm256_maddubs_epi16(lo, a), p_hi = _mm256_maddubs_epi16(hi, a);
                    sum_lo[r] = computed(g == 0 ? p_lo : _mm256_add_epi16(sum_lo[r], p_lo));
                    sum_hi[r] = computed(g == 0 ? p_hi : _mm256_add_epi16(sum_hi[r], p_hi));
                }
            }
            for (int r = 0; r < R; r++) {
                const __m256i high = _mm256_madd_epi16(sum_hi[r], _mm256_set1_epi16(16));
                const __m256i both = _mm256_add_epi32(high, _mm256_madd_epi16(sum_lo[r], _mm256_set1_epi16(1)));
                const __m256i isum =
                    _mm256_sub_epi32(both, _mm256_slli_epi32(splat_i32(act_at(act.b, 4 * b, r, act_stride)), 7));
                acc[r][h] = scaled(acc[r][h], isum, scales + 16 * h, act_at(act.d, 4 * b, r, act_stride));
            }
        }
    }
    for (int r = 0; r < R; r++)
        for (int h = 0; h < 2; h++) _mm256_storeu_ps(out + (size_t)r * out_stride + 8 * h, acc[r][h]);
}

#define DEFINE_TILE(R)                                                                                               \
    static void tile_##R(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,               \
                         size_t out_stride) {                                                                        \
        tile_several(R, panel, k, x, act_stride, out, out_stride);                                                   \
    }
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)

void avx2_matmul_q8_0(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                      size_t n_rows, float *out, size_t out_stride) {
    static const struct tiles tiles = {MOST_ROWS, {tile_1, tile_2, tile_3, tile_4}};
    (void)row_bytes;
    run_tiles(&tiles, w, panel_q8_0_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride);
}
