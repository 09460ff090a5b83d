// kernels/x86/tiles_avx2.h - the loop over panels and rows that all matrix products share.
#ifndef RN_KERNELS_X86_TILES_AVX2_H
#define RN_KERNELS_X86_TILES_AVX2_H

#include "kernels/x86/panel.h"

#define TILE_MOST_ROWS 6

// Some rows (x, act_stride bytes apart) times one panel: 16 floats for each at out + r * out_stride.
typedef void (*tile_fn)(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,
                        size_t out_stride);

// What a type has: rows[r - 1] does r rows, most_rows being as many as the registers hold sums of.
struct tiles {
    size_t most_rows;
    tile_fn rows[TILE_MOST_ROWS];
};

void avx2_run_tiles(const struct tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
                    const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride);

// A byte of a section of row r, given the section of row 0: one pointer serves all rows.
static inline const void *act_at(const void *section, size_t byte, int r, size_t act_stride) {
    return (const uint8_t *)section + byte + (size_t)r * act_stride;
}

#endif
