// kernels/panels/tiles.c - loops over panels, and for each over the rows, so that a panel is loaded from memory once.
#include "kernels/panels/tiles.h"
#include <string.h>

// The last panel may hold fewer outputs than a tile writes.
static void partial_tile(tile_fn tile, size_t rows, size_t n_valid, const uint8_t *panel, size_t k, const void *x,
                         size_t act_stride, float *out, size_t out_stride) {
    float whole[TILE_MOST_ROWS * PANEL_ROWS];
    tile(panel, k, x, act_stride, whole, PANEL_ROWS);
    for (size_t r = 0; r < rows; r++) memcpy(out + r * out_stride, whole + r * PANEL_ROWS, n_valid * sizeof *out);
}

void run_tiles(const struct tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
               const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride) {
    for (size_t o = 0; o < n_out; o += PANEL_ROWS, panels += panel_bytes) {
        for (size_t r = 0, rows; r < n_rows; r += rows) {
            rows = n_rows - r < t->most_rows ? n_rows - r : t->most_rows;
            const uint8_t *const xr = (const uint8_t *)x + r * act_stride;
            float *const to = out + r * out_stride + o;
            const tile_fn tile = t->rows[rows - 1];
            if (n_out - o >= PANEL_ROWS)
                tile(panels, k, xr, act_stride, to, out_stride);
            else
                partial_tile(tile, rows, n_out - o, panels, k, xr, act_stride, to, out_stride);
        }
    }
}
