// tests/support/any_blocks.h - weights of block types made of any bytes, for types that are not written and for what quantizers never give.
#ifndef RN_TESTS_ANY_BLOCKS_H
#define RN_TESTS_ANY_BLOCKS_H

#include "tensor/types.h"

// Where a block holds F16 numbers: its scale, then its minimum. MXFP4 has none, but an exponent in its first byte; IQ1_M has one in four
// places.
struct block_halves {
    size_t n, at[2];
};
// Types whose models in tests are always made of any bytes: as far from what quantizers write as files can be, and quickly drawn.
bool any_blocks_only(enum tensor_type type);
struct block_halves block_halves_of(enum tensor_type type);

// Gives a block a scale, and a minimum of 1.5 times it.
void put_block_scale(enum tensor_type type, uint8_t *block, double scale);

// n_blocks blocks of bytes that follow from the seed, with scales that make the root mean square of each block's values `size` (of
// MXFP4: at most that, more than half of it).
void any_blocks(enum tensor_type type, float size, uint64_t seed, uint8_t *out, size_t n_blocks);

#endif
