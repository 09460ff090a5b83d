// kernels/x86/matmul_f16_avx2.c - F32 and F16 panels times rows of float: one fused chain along k for each output.
//
// A chain's steps wait for each other (4 cycles), so several chains run side by side: those of six rows, or for a single row
// those of four panels.
#include "kernels/panels/tiles.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum { MOST_PANELS = 4, MOST_ROWS = 6 };

// P panels by R rows; out has the panels' outputs side by side.
ALWAYS_INLINE void tile(const bool is_f16, const int P, const int R, const uint8_t *panels, size_t panel_bytes,
                        size_t k, const void *x, size_t x_stride, float *out, size_t out_stride) {
    const size_t size = is_f16 ? 2 : 4;
    __m256 acc[MOST_PANELS][MOST_ROWS][2];
    for (int p = 0; p < P; p++)
        for (int r = 0; r < R; r++) acc[p][r][0] = acc[p][r][1] = _mm256_setzero_ps();
    for (size_t i = 0; i < k; i++) {
        for (int p = 0; p < P; p++) {
            const uint8_t *const w = panels + (size_t)p * panel_bytes + size * PANEL_ROWS * i;
            const __m256 w0 = is_f16 ? load_f16(w) : _mm256_loadu_ps((const void *)w);
            const __m256 w1 = is_f16 ? load_f16(w + 16) : _mm256_loadu_ps((const void *)(w + 32));
            prefetch(w);
            for (int r = 0; r < R; r++) {
                const __m256 a = splat_f32(act_at(x, 4 * i, r, x_stride));
                acc[p][r][0] = _mm256_fmadd_ps(w0, a, acc[p][r][0]);
                acc[p][r][1] = _mm256_fmadd_ps(w1, a, acc[p][r][1]);
            }
        }
    }
    for (int p = 0; p < P; p++)
        for (int r = 0; r < R; r++)
            for (int h = 0; h < 2; h++)
                _mm256_storeu_ps(out + (size_t)r * out_stride + PANEL_ROWS * p + 8 * h, acc[p][r][h]);
}

#define DEFINE_TILE(type, is_f16, R)                                                                                 \
    static void type##_tile_##R(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,        \
                                size_t out_stride) {                                                                 \
        tile(is_f16, 1, R, panel, 0, k, x, act_stride, out, out_stride);                                             \
    }
#define DEFINE_MATMUL(type, is_f16)                                                                                  \
    DEFINE_TILE(type, is_f16, 1)                                                                                     \
    DEFINE_TILE(type, is_f16, 2)                                                                                     \
    DEFINE_TILE(type, is_f16, 3)                                                                                     \
    DEFINE_TILE(type, is_f16, 4)                                                                                     \
    DEFINE_TILE(type, is_f16, 5)                                                                                     \
    DEFINE_TILE(type, is_f16, 6)                                                                                     \
    void avx2_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                  \
                            size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                       \
        static const struct tiles tiles = {                                                                          \
            MOST_ROWS, {type##_tile_1, type##_tile_2, type##_tile_3, type##_tile_4, type##_tile_5, type##_tile_6}};  \
        const size_t panel_bytes = panel_##type##_bytes(k), outputs = MOST_PANELS * PANEL_ROWS;                      \
        const uint8_t *panels = w;                                                                                   \
        (void)row_bytes;                                                                                             \
        for (; n_rows == 1 && n_out >= outputs;                                                                      \
             n_out -= outputs, out += outputs, panels += MOST_PANELS * panel_bytes)                                  \
            tile(is_f16, MOST_PANELS, 1, panels, panel_bytes, k, x, act_stride, out, out_stride);                    \
        run_tiles(&tiles, panels, panel_bytes, n_out, k, x, act_stride, n_rows, out, out_stride);                    \
    }
DEFINE_MATMUL(f32, false)
DEFINE_MATMUL(f16, true)
