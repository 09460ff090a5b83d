// kernels/x86/tiles_attend_amx.h - tile registers for attention over BF16 pairs: their shapes, and loading them.
#ifndef RN_KERNELS_X86_TILES_ATTEND_AMX_H
#define RN_KERNELS_X86_TILES_ATTEND_AMX_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

// Tiles 0 to 3 are sums, 16 channels or keys of n_q queries each. 4 and 5 hold the two sides of a product over 32 positions, 6 and 7
// those of one over fewer.
enum { TILE_ROWS = 16, TILE_LINE = 64 };

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t line_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "what ldtilecfg reads");

// n_q (1..16) queries; `rest` (0 or an even number below 32) positions in the shorter product.
//
// The instruction by hand: GCC 12's _tile_loadconfig does not say that it reads memory, and stores to it are lost.
static inline void tiles_begin(size_t n_q, size_t rest) {
    struct tile_config c = {.palette = 1};
    for (int t = 0; t < 8; t++) c.rows[t] = TILE_ROWS, c.line_bytes[t] = TILE_LINE;
    for (int t = 0; t < 4; t++) c.rows[t] = (uint8_t)n_q;
    c.rows[4] = c.rows[6] = (uint8_t)n_q;
    c.line_bytes[6] = (uint16_t)(rest ? 2 * rest : TILE_LINE);
    c.rows[7] = (uint8_t)(rest ? rest / 2 : TILE_ROWS);
    __asm__ volatile("ldtilecfg %0" : : "m"(c));
}
static inline void tiles_end(void) { _tile_release(); }

#endif
