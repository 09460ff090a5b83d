// kernels/arm/matmul_f16_neon.c - F32 and F16 panels times rows of float: one fused chain along k for each output.
//
// A chain's steps wait for each other (4 cycles on most cores), so several run side by side: those of up to six rows, or for a single row
// those of four panels.
#include "kernels/arm/lanes_neon.h"
#include "kernels/arm/neon.h"
#include "kernels/panels/tiles.h"

enum { MOST_PANELS = 4, MOST_ROWS = 6, VECTORS = 4 };

// P panels by R rows; out has the panels' outputs side by side.
ALWAYS_INLINE void tile(const bool is_f16, const int P, const int R, const uint8_t *panels, size_t panel_bytes,
                        size_t k, const void *x, size_t x_stride, float *out, size_t out_stride) {
    const size_t size = is_f16 ? 2 : 4;
    float32x4_t acc[MOST_PANELS][MOST_ROWS][VECTORS];
    UNROLLED for (int p = 0; p < P; p++) {
        UNROLLED for (int r = 0; r < R; r++) {
            UNROLLED for (int v = 0; v < VECTORS; v++) acc[p][r][v] = vdupq_n_f32(0);
        }
    }
    for (size_t i = 0; i < k; i++) {
        UNROLLED for (int p = 0; p < P; p++) {
            const uint8_t *const at = panels + (size_t)p * panel_bytes + size * PANEL_ROWS * i;
            float32x4_t w[VECTORS];
            UNROLLED for (size_t v = 0; v < VECTORS; v++) w[v] =
                is_f16 ? load_f16(at + 8 * v) : vld1q_f32((const float *)(const void *)at + 4 * v);
            UNROLLED for (int r = 0; r < R; r++) {
                const float a = load_f32(act_at(x, 4 * i, r, x_stride));
                UNROLLED for (int v = 0; v < VECTORS; v++) acc[p][r][v] = vfmaq_n_f32(acc[p][r][v], w[v], a);
            }
        }
    }
    UNROLLED for (int p = 0; p < P; p++) {
        UNROLLED for (int r = 0; r < R; r++) {
            float *const to = out + (size_t)r * out_stride + PANEL_ROWS * p;
            UNROLLED for (int v = 0; v < VECTORS; v++) vst1q_f32(to + 4 * v, acc[p][r][v]);
        }
    }
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
    void neon_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                  \
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
