// kernels/panels/tiles.h - the loop over panels and rows that all matrix products share.
#ifndef RN_KERNELS_PANELS_TILES_H
#define RN_KERNELS_PANELS_TILES_H

#include "kernels/panels/panel.h"

#define TILE_MOST_ROWS 8

// Some rows (x, act_stride bytes apart) times one panel: 16 floats for each at out + r * out_stride.
typedef void (*tile_fn)(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,
                        size_t out_stride);

// What a type has: rows[r - 1] does r rows, most_rows being as many as the registers hold sums of.
struct tiles {
    size_t most_rows;
    tile_fn rows[TILE_MOST_ROWS];
};

void run_tiles(const struct tiles *t, const uint8_t *panels, size_t panel_bytes, size_t n_out, size_t k,
               const void *x, size_t act_stride, size_t n_rows, float *out, size_t out_stride);

// SET_matmul_TYPE over tiles of 1 to 4 (.._8: to 8) rows; tile is inlined, kind (what distinguishes the type) and the rows being constants:
// tile(kind, R, panel, k, x, act_stride, out, out_stride).
#define DEFINE_ROW_TILE(type, R, tile, kind)                                                                         \
    static void type##_tile_##R(const uint8_t *panel, size_t k, const void *x, size_t act_stride, float *out,        \
                                size_t out_stride) {                                                                 \
        tile(kind, R, panel, k, x, act_stride, out, out_stride);                                                     \
    }
#define DEFINE_TILED_MATMUL(set, type, tile, kind)                                                                   \
    DEFINE_ROW_TILE(type, 1, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 2, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 3, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 4, tile, kind)                                                                             \
    DEFINE_MATMUL_OF_TILES(set, type, 4, type##_tile_1, type##_tile_2, type##_tile_3, type##_tile_4)
#define DEFINE_TILED_MATMUL_8(set, type, tile, kind)                                                                 \
    DEFINE_ROW_TILE(type, 1, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 2, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 3, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 4, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 5, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 6, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 7, tile, kind)                                                                             \
    DEFINE_ROW_TILE(type, 8, tile, kind)                                                                             \
    DEFINE_MATMUL_OF_TILES(set, type, 8, type##_tile_1, type##_tile_2, type##_tile_3, type##_tile_4, type##_tile_5,  \
                           type##_tile_6, type##_tile_7, type##_tile_8)
#define DEFINE_MATMUL_OF_TILES(set, type, most_rows, ...)                                                            \
    void set##_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                 \
                             size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                      \
        static const struct tiles tiles = {most_rows, {__VA_ARGS__}};                                                \
        (void)row_bytes;                                                                                             \
        run_tiles(&tiles, w, panel_##type##_bytes(k), n_out, k, x, act_stride, n_rows, out, out_stride);             \
    }

// A byte of a section of row r, given the section of row 0: one pointer serves all rows.
static inline const void *act_at(const void *section, size_t byte, int r, size_t act_stride) {
    return (const uint8_t *)section + byte + (size_t)r * act_stride;
}

#endif
