// kernels/x86/tiles_amx.h - AMX tile instructions, and the shapes of the tiles.
//
// Own inline assembly instead of the compiler's intrinsics: GCC 12's _tile_loadconfig claims 8 of the 64 bytes it reads, so that the
// stores which fill them are dropped, and its loads and stores of tiles claim no memory at all. A tile's number is written out where
// it is used: it is part of the instruction. Every call configures the tiles at its start and releases them at its end.
#ifndef RN_KERNELS_X86_TILES_AMX_H
#define RN_KERNELS_X86_TILES_AMX_H

#include <stdint.h>

enum { N_TILES = 8, TILE_ROWS = 16, TILE_LINE = 64, TILE_BYTES = TILE_ROWS * TILE_LINE };

// The operand of ldtilecfg for palette 1: bytes of a row and rows of each tile.
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

#define TILES_WHOLE                                                                                                  \
    {                                                                                                                \
        .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = { 16, 16, 16, 16, 16, 16, 16, 16 }      \
    }
// Products of 32 bytes: the right side in tiles 6 and 7, of half the rows, the left one in 4 and 5, of half the row.
#define TILES_32                                                                                                     \
    {                                                                                                                \
        .palette = 1, .row_bytes = {64, 64, 64, 64, 32, 32, 64, 64}, .rows = { 16, 16, 16, 16, 16, 16, 8, 8 }        \
    }
static inline void tiles_configure(const struct tile_config *c) { __asm__ volatile("ldtilecfg %0" : : "m"(*c)); }
static inline void tiles_release(void) { __asm__ volatile("tilerelease"); }

// Memory is named as a whole: tile loads come after the stores that filled it, and reads of what a tile stored after that.
#define TILE_LOAD(t, from, stride)                                                                                   \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(t, to, stride)                                                                                    \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(stride)) : "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t:)
// c += a * b: bytes with sign; bytes with sign times bytes without; BF16 numbers.
#define TILE_ADD_BYTES(c, a, b)    __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c:)
#define TILE_ADD_UNSIGNED(c, a, b) __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c:)
#define TILE_ADD_BF16(c, a, b)     __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c:)

#endif
