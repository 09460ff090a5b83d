// kernels/x86/matmul_bf16_avx512.c - BF16 panels times rows of BF16, in the order of docs/arithmetic.md: for each 32 of k a chain over
// the even and one over the odd positions, then their sum to the accumulator.
//
// A 32-bit lane of a panel holds the pair (even, odd) of one output: shifted left it is the even number as a float, with its low half
// cleared the odd one. The activations of one or two rows are split the same way as they are read; those of more rows (the second
// way) are widened to float before, so that a multiplication takes them from memory.
#include "kernels/x86/avx512.h"
#include "kernels/x86/groups_avx512.h"

enum { MOST_PANELS = 3, MOST_ROWS = 6, BLOCK = 32 };

ALWAYS_INLINE_512 __m512 even(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
ALWAYS_INLINE_512 __m512 odd(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000)));
}

// The two activations of pair i of a row, on all lanes. is_wide: as floats, else as they are prepared.
struct pair {
    __m512 even, odd;
};
ALWAYS_INLINE_512 struct pair pair_of(const bool is_wide, const uint8_t *row, size_t i) {
    if (is_wide) return (struct pair){splat_float(row + 8 * i), splat_float(row + 8 * i + 4)};
    const __m512i a = splat_4_bytes(row + 4 * i);
    return (struct pair){even(a), odd(a)};
}

// P panels by R rows.
ALWAYS_INLINE_512 void tile(const bool is_wide, const int P, const int R, const uint8_t *panels, size_t panel_bytes,
                            size_t k, const void *rows, size_t x_stride, float *out, size_t out_stride,
                            __mmask16 last) {
    const uint8_t *const x = rows;
    __m512 acc[MOST_PANELS][MOST_ROWS];
#pragma GCC unroll 3
    for (int p = 0; p < P; p++)
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) acc[p][r] = _mm512_setzero_ps();
    for (size_t b = 0; b < k; b += BLOCK) {
        __m512 chain_even[MOST_PANELS][MOST_ROWS], chain_odd[MOST_PANELS][MOST_ROWS];
#pragma GCC unroll 3
        for (int p = 0; p < P; p++)
#pragma GCC unroll 6
            for (int r = 0; r < R; r++) chain_even[p][r] = chain_odd[p][r] = _mm512_setzero_ps();
        for (size_t i = b / 2; i < b / 2 + BLOCK / 2; i++) {
            __m512 w_even[MOST_PANELS], w_odd[MOST_PANELS];
            prefetch_group(P, panels, panel_bytes, PANEL_LINE * i);
#pragma GCC unroll 3
            for (int p = 0; p < P; p++) {
                const __m512i w = line_at(panels + (size_t)p * panel_bytes + PANEL_LINE * i);
                w_even[p] = even(w);
                w_odd[p] = odd(w);
            }
#pragma GCC unroll 6
            for (int r = 0; r < R; r++) {
                const struct pair a = pair_of(is_wide, x + (size_t)r * x_stride, i);
#pragma GCC unroll 3
                for (int p = 0; p < P; p++) {
                    chain_even[p][r] = _mm512_fmadd_ps(w_even[p], a.even, chain_even[p][r]);
                    chain_odd[p][r] = _mm512_fmadd_ps(w_odd[p], a.odd, chain_odd[p][r]);
                }
            }
        }
#pragma GCC unroll 3
        for (int p = 0; p < P; p++)
#pragma GCC unroll 6
            for (int r = 0; r < R; r++)
                acc[p][r] = _mm512_add_ps(acc[p][r], _mm512_add_ps(chain_even[p][r], chain_odd[p][r]));
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 3
        for (int p = 0; p < P; p++) put_outputs(P, out + (size_t)r * out_stride, p, acc[p][r], last);
}

#define DEFINE_TILE(name, is_wide, P, R)                                                                             \
    static void name##_tile_##P##_##R(const uint8_t *panels, size_t panel_bytes, size_t k, const void *x,            \
                                      size_t x_stride, float *out, size_t out_stride, __mmask16 last) {              \
        tile(is_wide, P, R, panels, panel_bytes, k, x, x_stride, out, out_stride, last);                             \
    }
DEFINE_TILE(narrow, false, 3, 1)
DEFINE_TILE(narrow, false, 3, 2)
DEFINE_TILE(narrow, false, 1, 1)
DEFINE_TILE(narrow, false, 1, 2)
#define DEFINE_WIDE_TILES(P)                                                                                         \
    DEFINE_TILE(wide, true, P, 1)                                                                                    \
    DEFINE_TILE(wide, true, P, 2)                                                                                    \
    DEFINE_TILE(wide, true, P, 3)                                                                                    \
    DEFINE_TILE(wide, true, P, 4)                                                                                    \
    DEFINE_TILE(wide, true, P, 5)                                                                                    \
    DEFINE_TILE(wide, true, P, 6)
DEFINE_WIDE_TILES(2)
DEFINE_WIDE_TILES(1)

void avx512_matmul_bf16(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x, size_t act_stride,
                        size_t n_rows, float *out, size_t out_stride) {
    static const struct group_tiles tiles = {
        2, 3, {narrow_tile_3_1, narrow_tile_3_2}, {narrow_tile_1_1, narrow_tile_1_2}};
    (void)row_bytes;
    run_groups(&tiles, w, panel_bf16_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride);
}

// Rows are widened so many at a time, a line further apart than they are long: else their lines would fall into the same few places of
// the cache.
enum { WIDE_ROWS = 8 * MOST_ROWS };
static size_t wide_stride(size_t k) { return 4 * ((k + BLOCK - 1) / BLOCK * BLOCK) + PANEL_LINE; }

static void widen(const uint16_t *row, size_t k, float *to) {
    for (size_t i = 0; i < (k + BLOCK - 1) / BLOCK * BLOCK; i += 16) { // prepared rows are filled up with zeros
        const __m512i v = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(row + i)));
        _mm512_storeu_ps(to + i, even(v));
    }
}

size_t avx512_gemm_bf16_scratch(size_t k) { return WIDE_ROWS * wide_stride(k); }

void avx512_gemm_bf16(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,
                      float *out, size_t out_stride, void *scratch) {
    static const struct group_tiles tiles = {
        MOST_ROWS,
        2,
        {wide_tile_2_1, wide_tile_2_2, wide_tile_2_3, wide_tile_2_4, wide_tile_2_5, wide_tile_2_6},
        {wide_tile_1_1, wide_tile_1_2, wide_tile_1_3, wide_tile_1_4, wide_tile_1_5, wide_tile_1_6}};
    const size_t stride = wide_stride(k);
    for (size_t r = 0; r < n_rows; r += WIDE_ROWS) {
        const size_t n = n_rows - r < WIDE_ROWS ? n_rows - r : WIDE_ROWS;
        for (size_t i = 0; i < n; i++)
            widen((const void *)((const uint8_t *)x + (r + i) * act_stride), k,
                  (float *)(void *)((uint8_t *)scratch + i * stride));
        run_groups(&tiles, w, panel_bf16_bytes(k), n_out, k, scratch, stride, n, out + r * out_stride, out_stride);
    }
}
