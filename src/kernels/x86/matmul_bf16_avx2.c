// kernels/x86/matmul_bf16_avx2.c - BF16 panels times rows of BF16, in the order of docs/arithmetic.md: for each 32 of k a chain
// over the even and one over the odd positions, then their sum to the accumulator.
//
// A 32-bit lane of a panel holds the pair (even, odd) of one output: shifted left it is the even number as a float, with its low
// half cleared the odd one. The activations are broadcast pair by pair and split the same way.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { MOST_PANELS = 2, MOST_ROWS = 2, PAIRS = 16 }; // pairs of one chain

ALWAYS_INLINE __m256 even(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
ALWAYS_INLINE __m256 odd(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000)));
}

// P panels by R rows; out has the panels' outputs side by side.
ALWAYS_INLINE void tile(const int P, const int R, const uint8_t *panels, size_t panel_bytes, size_t k, const void *x,
                        size_t x_stride, float *out, size_t out_stride) {
    __m256 acc[MOST_PANELS][MOST_ROWS][2];
    for (int p = 0; p < P; p++)
        for (int r = 0; r < R; r++) acc[p][r][0] = acc[p][r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < k; b += 32) {
        __m256 chain_even[MOST_PANELS][MOST_ROWS][2], chain_odd[MOST_PANELS][MOST_ROWS][2];
        for (int p = 0; p < P; p++)
            for (int r = 0; r < R; r++)
                for (int h = 0; h < 2; h++) chain_even[p][r][h] = chain_odd[p][r][h] = _mm256_setzero_ps();
        for (size_t i = b / 2; i < b / 2 + PAIRS; i++) {
            for (int p = 0; p < P; p++) {
                const uint8_t *const w = panels + (size_t)p * panel_bytes + PANEL_LINE * i;
                prefetch(w);
                for (int r = 0; r < R; r++) {
                    const __m256i a = splat_i32(act_at(x, 4 * i, r, x_stride));
                    for (int h = 0; h < 2; h++) {
                        const __m256i pairs = _mm256_loadu_si256((const void *)(w + 32 * h));
                        chain_even[p][r][h] = _mm256_fmadd_ps(even(pairs), even(a), chain_even[p][r][h]);
                        chain_odd[p][r][h] = _mm256_fmadd_ps(odd(pairs), odd(a), chain_odd[p][r][h]);
                    }
                }
            }
        }
        for (int p = 0; p < P; p++)
            for (int r = 0; r < R; r++)
                for (int h = 0; h < 2; h++)
                    acc[p][r][h] =
                        _mm256_add_ps(acc[p][r][h], _mm256_add_ps(chain_even[p][r][h], chain_odd[p][r][h]));
    }
    for (int p = 0; p < P; p++)
        for (int r = 0; r < R; r++)
            for (int h = 0; h < 2; h++)
                _mm256_storeu_ps(out + (size_t)r * out_stride + PANEL_ROWS * p + 8 * h, acc[p][r][h]);
}

static void tile_1(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    tile(1, 1, panel, 0, k, x, act_stride, out, out_stride);
}
static void tile_2(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out, size_t out_stride) {
    tile(1, 2, panel, 0, k, x, act_stride, out, out_stride);
}

void avx2_matmul_bf16(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                      size_t n_rows, float *out, size_t out_stride) {
    static const struct tiles tiles = {MOST_ROWS, {tile_1, tile_2}};
    const size_t panel_bytes = panel_bf16_bytes(k), outputs = MOST_PANELS * PANEL_ROWS;
    const uint8_t *panels = w;
    (void)row_bytes;
    for (; n_rows == 1 && n_out >= outputs; n_out -= outputs, out += outputs, panels += MOST_PANELS * panel_bytes)
        tile(MOST_PANELS, 1, panels, panel_bytes, k, x, act_stride, out, out_stride);
    run_tiles(&tiles, panels, panel_bytes, n_out, k, x, act_stride, n_rows, out, out_stride);
}
