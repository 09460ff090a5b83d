// tensor/blocks.h - the layouts of GGUF's types with blocks of 32, and of Q1_0 and Q2_0, whose blocks are four and two of these
// with one scale, and of NVFP4, whose blocks are four parts of 16 numbers; and how to unpack them.
//
//   Q8_0    34 bytes  d | q[0] .. q[31] int8                              value n = d * q[n]
//   Q4_0    18 bytes  d | nibbles                                         value n = d * (nibble - 8)
//   Q4_1    20 bytes  d | m | nibbles                                     value n = d * nibble + m
//   Q5_0    22 bytes  d | 32 fifth bits, bit n for number n | nibbles     value n = d * (16 * bit + nibble - 16)
//   Q5_1    24 bytes  d | m | fifth bits | nibbles                        value n = d * (16 * bit + nibble) + m
//   IQ4_NL  18 bytes  d | nibbles                                         value n = d * iq4_values[nibble]
//   MXFP4   17 bytes  e | nibbles                                         value n = 2^(e - 128) * mxfp4_values[nibble]
//   Q1_0    18 bytes  d | 128 bits, bit n for number n                    value n = d where the bit is set, else -d
//   Q2_0    18 bytes  d | 64 times two bits, the lowest of a byte first   value n = d * (two bits - 1)
//   NVFP4   36 bytes  s[0] .. s[3] | nibbles of each part                 value n = s[n / 16] / 2 * mxfp4_values[nibble]
//
// d and m are F16, e is one byte, s is E4M3 without a sign. Nibbles take 16 bytes: the low nibble of byte i is number i, the
// high one is number i + 16; a part of NVFP4 has 8 bytes, of numbers i and i + 8. Blocks may be unaligned: fields are read byte by byte.
#ifndef RN_TENSOR_BLOCKS_H
#define RN_TENSOR_BLOCKS_H

#include "tensor/half.h"
#include <stddef.h>

enum {
    BLOCK_32 = 32, // elements of a block
    Q8_0_BYTES = 34,
    Q4_0_BYTES = 18,
    Q4_1_BYTES = 20,
    Q5_0_BYTES = 22,
    Q5_1_BYTES = 24,
    IQ4_NL_BYTES = 18,
    MXFP4_BYTES = 17,
    Q1_0_LEN = 128,
    Q1_0_BYTES = 18,
    Q2_0_LEN = 64,
    Q2_0_BYTES = 18,
    NVFP4_LEN = 64,
    NVFP4_PART = 16,
    NVFP4_BYTES = 36
};

// The 16 values of IQ4_NL and IQ4_XS; the E2M1 values of MXFP4 and NVFP4 times 2.
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static inline uint16_t load_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t load_u32(const uint8_t *p) { return load_u16(p) | (uint32_t)load_u16(p + 2) << 16; }
static inline float load_half(const uint8_t *p) { return f16_to_f32(load_u16(p)); }
static inline void store_u16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

// For writers: put number n of 32 into 16 bytes of nibbles, or bit n into 4 bytes. The bytes must
// be zero before.
static inline void put_nibble_32(uint8_t *qs, int n, int v) {
    qs[n % 16] = (uint8_t)(qs[n % 16] | v << (n < 16 ? 0 : 4));
}
static inline void put_bit_32(uint8_t *qh, int n, int v) { qh[n / 8] = (uint8_t)(qh[n / 8] | v << n % 8); }

// An unpacked block: value n = d * q[n], plus m for types with a minimum.
struct block_32 {
    float d, m;
    int8_t q[BLOCK_32];
};

static inline void unpack_nibbles_32(const uint8_t *qs, int minus, int8_t *q) {
    for (int i = 0; i < 16; i++) {
        q[i] = (int8_t)((qs[i] & 15) - minus);
        q[i + 16] = (int8_t)((qs[i] >> 4) - minus);
    }
}
static inline void add_fifth_bits(const uint8_t *qh, int8_t *q) {
    const uint32_t bits = load_u32(qh);
    for (int i = 0; i < BLOCK_32; i++) q[i] = (int8_t)(q[i] + (int)(bits >> i & 1) * 16);
}
static inline void unpack_table_32(const uint8_t *qs, const int8_t *values, int8_t *q) {
    for (int i = 0; i < 16; i++) {
        q[i] = values[qs[i] & 15];
        q[i + 16] = values[qs[i] >> 4];
    }
}

static inline void q8_0_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p);
    memcpy(b->q, p + 2, BLOCK_32);
}
static inline void q4_0_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p);
    unpack_nibbles_32(p + 2, 8, b->q);
}
static inline void q4_1_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p), b->m = load_half(p + 2);
    unpack_nibbles_32(p + 4, 0, b->q);
}
static inline void q5_0_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p);
    unpack_nibbles_32(p + 6, 16, b->q);
    add_fifth_bits(p + 2, b->q);
}
static inline void q5_1_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p), b->m = load_half(p + 2);
    unpack_nibbles_32(p + 8, 0, b->q);
    add_fifth_bits(p + 4, b->q);
}
static inline void iq4_nl_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = load_half(p);
    unpack_table_32(p + 2, iq4_values, b->q);
}

// Built from bits: 2^-128 and 2^-127 are denormal, and a multiplication would flush them to zero.
static inline float mxfp4_scale(uint8_t e) {
    return f32_from_bits(e < 2 ? (uint32_t)0x200000 << e : (uint32_t)(e - 1) << 23);
}
static inline void mxfp4_unpack(const uint8_t *p, struct block_32 *b) {
    b->d = mxfp4_scale(p[0]);
    unpack_table_32(p + 1, mxfp4_values, b->q);
}

// Numbers [32 part, 32 part + 32) of a block.
static inline void q1_0_unpack(const uint8_t *p, size_t part, struct block_32 *b) {
    const uint32_t bits = load_u32(p + 2 + 4 * part);
    b->d = load_half(p);
    for (int i = 0; i < BLOCK_32; i++) b->q[i] = (int8_t)((int)(bits >> i & 1) * 2 - 1);
}
static inline void q2_0_unpack(const uint8_t *p, size_t part, struct block_32 *b) {
    b->d = load_half(p);
    for (int i = 0; i < BLOCK_32; i++) b->q[i] = (int8_t)((p[2 + 8 * part + (size_t)i / 4] >> i % 4 * 2 & 3) - 1);
}

// Half of a scale. The highest bit is not read; 127, which is no number, counts as 0 (255 does not), as in the reference.
static inline float nvfp4_scale(uint8_t s) {
    const uint32_t e = s >> 3 & 15, m = s & 7;
    if (s == 127) return 0;
    return e ? (float)(8 + m) * f32_from_bits((e + 116) << 23) : (float)m * 0x1p-10f;
}
// The values of a block. Each is exact in BF16: a product of at most 15 and 12 times a power of two from 2^-10 to 2^4.
static inline void nvfp4_unpack(const uint8_t *p, float *values) {
    for (int n = 0; n < NVFP4_LEN; n++) {
        const int part = n / NVFP4_PART, i = n % NVFP4_PART;
        const uint8_t byte = p[4 + 8 * part + i % 8];
        values[n] = nvfp4_scale(p[part]) * (float)mxfp4_values[i < 8 ? byte & 15 : byte >> 4];
    }
}

#endif
