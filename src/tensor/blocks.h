// tensor/blocks.h - the bytes of the block types as GGUF files hold them: 32 elements with an F16 scale in front.
//
//   Q8_0  34 bytes  d | q[0] .. q[31] int8                             value n = d * q[n]
//   Q4_0  18 bytes  d | 16 bytes: low nibble n, high nibble n + 16     value n = d * (q[n] - 8)
//   Q4_1  20 bytes  d | m | 16 bytes as in Q4_0                        value n = d * q[n] + m
//
// Blocks lie at any address: fields are read byte by byte through load_u16().
#ifndef RN_TENSOR_BLOCKS_H
#define RN_TENSOR_BLOCKS_H

#include <stdint.h>

enum {
    BLOCK_32 = 32, // elements of each of them
    Q8_0_BYTES = 34,
    Q4_0_BYTES = 18,
    Q4_1_BYTES = 20
};

static inline uint16_t load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline void store_u16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

// Number n of 32 in the 16 bytes of nibbles.
static inline int nibble_32(const uint8_t *qs, int n) { return n < 16 ? qs[n] & 15 : qs[n - 16] >> 4; }

#endif
