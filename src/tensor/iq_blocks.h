// tensor/iq_blocks.h - the layouts of GGUF's IQ and ternary types, and how to unpack their blocks of 256.
//
// Numbers come in eights, each a point of a grid (iq_grids.h) and a byte of signs, bit j for number j. With a seven-bit index of signs the eighth
// is such that their number is even. Below: J = n / 32, e = n % 32 / 8, d an F16, s a small integer of the part that the number is in.
//
//             bytes  part  layout                                     value n
//   IQ2_XXS    66     32   d | [8]: 4 grid bytes, u32                  d / 8 * (2 s + 1) * +-point; u32: 4 x 7 bits of signs, s in the upper 4
//   IQ2_XS     74     16   d | u16[32] | s[8]                          the same; u16: 9 bits of the grid, 7 of signs; s: a nibble for each 16
//   IQ2_S      82     16   d | grid[32] | signs[32] | high[8] | s[8]   the same; bits 2 e, 2 e + 1 of high[J] above the grid's 8
//   IQ3_XXS    98     32   d | grid[64] | u32[8]                       d / 4 * (2 s + 1) * +-point; two points for an eight; u32 as in IQ2_XXS
//   IQ3_S     110     32   d | grid[64] | high[8] | signs[32] | s[4]   d * (2 s + 1) * +-point; a bit of high[J] for each point; s: nibbles
//   IQ1_S      50     32   d | grid[32] | u16[8]                       d / 8 * (2 s + 1) * (8 * point +- 1); u16: 3 bits of the grid for each e,
//                                                                      then 3 of s, then the sign of the 1
//   IQ1_M      56     16   grid[32] | high[16] | u16[4]                the same; a nibble of high for each eight: 3 bits of the grid, then the sign;
//                                                                      u16: four s of 3 bits, and above them 4 bits of d
//   TQ1_0      54    256   five[48] | four[4] | d                      d * (digit - 1); five ternary digits in a byte, then four
//   TQ2_0      66    256   qs[64] | d                                  d * (q - 1), q as in Q2_K
//
// As integers: q is +-point or 8 * point +- 1, at most 62, and scale = 2 s + 1; d is multiplied by the fraction, which is exact. The ternary types
// are written as Q2_K writes numbers: scales and minimums of 1, dmin = d.
// Threads: pure functions.
#ifndef RN_TENSOR_IQ_BLOCKS_H
#define RN_TENSOR_IQ_BLOCKS_H

#include "tensor/iq_values.h"
#include "tensor/k_blocks.h"

enum {
    IQ2_XXS_BYTES = 66,
    IQ2_XS_BYTES = 74,
    IQ2_S_BYTES = 82,
    IQ3_XXS_BYTES = 98,
    IQ3_S_BYTES = 110,
    IQ1_S_BYTES = 50,
    IQ1_M_BYTES = 56,
    TQ1_0_BYTES = 54,
    TQ2_0_BYTES = 66
};

// The F16 d of an IQ1_M block, whose bits lie in four places.
static inline uint16_t iq1_m_d(const uint8_t *p) {
    return (uint16_t)(p[49] >> 4 | (p[51] & 0xf0) | (p[53] & 0xf0) << 4 | (p[55] & 0xf0) << 8);
}

void iq2_xxs_unpack(const uint8_t *p, struct block_256 *b);
void iq2_xs_unpack(const uint8_t *p, struct block_256 *b);
void iq2_s_unpack(const uint8_t *p, struct block_256 *b);
void iq3_xxs_unpack(const uint8_t *p, struct block_256 *b);
void iq3_s_unpack(const uint8_t *p, struct block_256 *b);
void iq1_s_unpack(const uint8_t *p, struct block_256 *b);
void iq1_m_unpack(const uint8_t *p, struct block_256 *b);
void tq1_0_unpack(const uint8_t *p, struct block_256 *b);
void tq2_0_unpack(const uint8_t *p, struct block_256 *b);

#endif
