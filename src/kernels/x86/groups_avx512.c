// kernels/x86/groups_avx512.c - loops over blocks of rows, in each over groups of panels, and for each over the rows.
#include "kernels/x86/groups_avx512.h"

enum { BLOCK_BYTES = 512 << 10 }; // of activations: what stays in L2 while the panels go by

// All panels times n_rows rows.
static void run_block(const struct group_tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                      const uint8_t *x, size_t x_stride, size_t n_rows, float *out, size_t out_stride) {
    for (size_t o = 0, n_panels; o < n_out; o += PANEL_ROWS * n_panels, panels += panel_bytes * n_panels) {
        const bool is_group = n_out - o > PANEL_ROWS * (t->n_panels - 1);
        n_panels = is_group ? t->n_panels : 1;
        const __mmask16 last = lanes_left(n_out - o - PANEL_ROWS * (n_panels - 1));
        for (size_t r = 0, rows; r < n_rows; r += rows) {
            rows = n_rows - r < t->most_rows ? n_rows - r : t->most_rows;
            (is_group ? t->group : t->single)[rows - 1](panels, panel_bytes, k, x + r * x_stride, x_stride,
                                                        out + r * out_stride + o, out_stride, last);
        }
    }
}

void run_groups(const struct group_tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                const void *x, size_t x_stride, size_t n_rows, float *out, size_t out_stride) {
    const size_t n_tiles = BLOCK_BYTES / (x_stride + 1) / t->most_rows,
                 block = (n_tiles ? n_tiles : 1) * t->most_rows;
    for (size_t r = 0; r < n_rows; r += block)
        run_block(t, panels, panel_bytes, n_out, k, (const uint8_t *)x + r * x_stride, x_stride,
                  n_rows - r < block ? n_rows - r : block, out + r * out_stride, out_stride);
}
