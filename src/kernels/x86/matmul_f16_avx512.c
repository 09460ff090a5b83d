// kernels/x86/matmul_f16_avx512.c - F32 and F16 panels times rows of float: one fused chain along k for each output.
//
// Eight rows of three panels are as many chains as the registers hold beside the weights; their multiplications wait for nothing.
#include "kernels/x86/avx512.h"
#include "kernels/x86/groups_avx512.h"

enum { N_PANELS = 3, MOST_ROWS = GROUP_MOST_ROWS };

// One k: P panels by R rows. w: the weights of the first panel, x: the number of the first row.
ALWAYS_INLINE_512 void step(const bool is_f16, const int P, const int R, const uint8_t *w, size_t panel_bytes,
                            const uint8_t *x, size_t x_stride, __m512 acc[N_PANELS][MOST_ROWS]) {
    __m512 weights[N_PANELS];
#pragma GCC unroll 3
    for (int p = 0; p < P; p++, w += panel_bytes) weights[p] = is_f16 ? load_16_f16(w) : _mm512_loadu_ps(w);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        const __m512 a = splat_float(x + (size_t)r * x_stride);
#pragma GCC unroll 3
        for (int p = 0; p < P; p++) acc[p][r] = _mm512_fmadd_ps(weights[p], a, acc[p][r]);
    }
}

// A line of a panel holds the weights of one k (F32) or two (F16).
ALWAYS_INLINE_512 void tile(const bool is_f16, const int P, const int R, const uint8_t *panels, size_t panel_bytes,
                            size_t k, const void *rows, size_t x_stride, float *out, size_t out_stride,
                            __mmask16 last) {
    const size_t in_line = is_f16 ? 2 : 1, step_bytes = PANEL_LINE / in_line;
    const uint8_t *const x = rows;
    __m512 acc[N_PANELS][MOST_ROWS];
#pragma GCC unroll 3
    for (int p = 0; p < P; p++)
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) acc[p][r] = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + in_line <= k; i += in_line) {
        prefetch_group(P, panels, panel_bytes, step_bytes * i);
#pragma GCC unroll 2
        for (size_t j = i; j < i + in_line; j++)
            step(is_f16, P, R, panels + step_bytes * j, panel_bytes, x + 4 * j, x_stride, acc);
    }
    if (i < k) step(is_f16, P, R, panels + step_bytes * i, panel_bytes, x + 4 * i, x_stride, acc);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 3
        for (int p = 0; p < P; p++) put_outputs(P, out + (size_t)r * out_stride, p, acc[p][r], last);
}

#define DEFINE_TILE(type, is_f16, P, R)                                                                              \
    static void type##_tile_##P##_##R(const uint8_t *panels, size_t panel_bytes, size_t k, const void *x,            \
                                      size_t x_stride, float *out, size_t out_stride, __mmask16 last) {              \
        tile(is_f16, P, R, panels, panel_bytes, k, x, x_stride, out, out_stride, last);                              \
    }
#define DEFINE_TILES(type, is_f16, P)                                                                                \
    DEFINE_TILE(type, is_f16, P, 1)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 2)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 3)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 4)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 5)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 6)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 7)                                                                                  \
    DEFINE_TILE(type, is_f16, P, 8)
#define TILES(type, P)                                                                                               \
    {type##_tile_##P##_1, type##_tile_##P##_2, type##_tile_##P##_3, type##_tile_##P##_4,                             \
     type##_tile_##P##_5, type##_tile_##P##_6, type##_tile_##P##_7, type##_tile_##P##_8}
#define DEFINE_MATMUL(type, is_f16)                                                                                  \
    DEFINE_TILES(type, is_f16, 3)                                                                                    \
    DEFINE_TILES(type, is_f16, 1)                                                                                    \
    void avx512_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                \
                              size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                     \
        static const struct group_tiles tiles = {MOST_ROWS, N_PANELS, TILES(type, 3), TILES(type, 1)};               \
        (void)row_bytes;                                                                                             \
        run_groups(&tiles, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride);            \
    }
DEFINE_MATMUL(f32, false)
DEFINE_MATMUL(f16, true)
