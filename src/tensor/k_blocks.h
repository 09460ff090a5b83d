// tensor/k_blocks.h - the layouts of GGUF's types with blocks of 256, and how to unpack their
// blocks.
//
// A block consists of parts of 16 or 32 numbers, each with an integer scale s and, in some types,
// an integer minimum m: value n = d * s * q[n] - dmin * m, where d and dmin are F16. Below: h = n /
// 128, j = n % 128 / 32, J = n / 32, l = n % 32.
//
//           bytes   part   layout                                              q[n]
//   Q2_K     84     16     sm[16] | qs[64] | d | dmin                          qs[32h + l] >> 2j & 3
//   Q3_K    110     16     high[32] | qs[64] | s[12] | d                       (qs[32h + l] >> 2j & 3) + 4 * bit 4h + j of high[l] - 4
//   Q4_K    144     32     d | dmin | sm[12] | qs[128]                         nibble J % 2 of qs[32 (J / 2) + l]
//   Q5_K    176     32     d | dmin | sm[12] | high[32] | qs[128]              the same + 16 * bit J of high[l]
//   Q6_K    210     16     ql[128] | qh[64] | s[16] int8 | d                   nibble j / 2 of ql[64h + 32 (j % 2) + l]
//                                                                                + 16 * (qh[32h + l] >> 2j & 3) - 32
//   IQ4_XS  136     32     d | s high u16 | s low[4] | qs[128]                 iq4_values[nibble l / 16 of qs[16J + l % 16]]
#ifndef RN_TENSOR_K_BLOCKS_H
#define RN_TENSOR_K_BLOCKS_H

#include "tensor/blocks.h"

enum {
    BLOCK_256 = 256, // elements of a block
    Q2_K_BYTES = 84,
    Q3_K_BYTES = 110,
    Q4_K_BYTES = 144,
    Q5_K_BYTES = 176,
    Q6_K_BYTES = 210,
    IQ4_XS_BYTES = 136
};

// An unpacked block. Types without a minimum leave dmin and min unchanged.
struct block_256 {
    float d, dmin;
    int part; // 16 or 32 numbers that share a scale
    int8_t scale[16];
    uint8_t min[16];
    int8_t q[BLOCK_256];
};

// Eight 6-bit scales and minimums in 12 bytes: the first four of each are stored whole, with the
// upper two bits of the others above.
static inline void q4_k_scales(const uint8_t *p, int8_t *scale, uint8_t *min) {
    for (int i = 0; i < 4; i++) {
        scale[i] = (int8_t)(p[i] & 63);
        min[i] = p[i + 4] & 63;
        scale[i + 4] = (int8_t)((p[i + 8] & 15) | p[i] >> 6 << 4);
        min[i + 4] = (uint8_t)(p[i + 8] >> 4 | p[i + 4] >> 6 << 4);
    }
}
static inline void q4_k_put_scales(uint8_t *p, const int *scale, const int *min) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(scale[i] | scale[i + 4] >> 4 << 6);
        p[i + 4] = (uint8_t)(min[i] | min[i + 4] >> 4 << 6);
        p[i + 8] = (uint8_t)((scale[i + 4] & 15) | (min[i + 4] & 15) << 4);
    }
}
// Sixteen signed 6-bit scales, stored with an offset of 32 in 12 bytes: low nibbles in eight bytes,
// then the upper two bits of four scales in each of four bytes.
static inline void q3_k_scales(const uint8_t *p, int8_t *scale) {
    for (int i = 0; i < 16; i++) {
        const int low = i < 8 ? p[i] & 15 : p[i - 8] >> 4, high = p[8 + i % 4] >> 2 * (i / 4) & 3;
        scale[i] = (int8_t)((low | high << 4) - 32);
    }
}
static inline void q3_k_put_scales(uint8_t *p, const int *scale) {
    for (int i = 0; i < 16; i++) {
        const int s = scale[i] + 32;
        p[i % 8] = (uint8_t)(p[i % 8] | (s & 15) << 4 * (i / 8));
        p[8 + i % 4] = (uint8_t)(p[8 + i % 4] | s >> 4 << 2 * (i / 4));
    }
}

// For writers: two bits of number n, as Q2_K, Q3_K and Q6_K have them in 64 bytes, which are zero before.
static inline void put_two_bits(uint8_t *qs, int n, int v) {
    uint8_t *const byte = &qs[32 * (n / 128) + n % 32];
    *byte = (uint8_t)(*byte | v << 2 * (n % 128 / 32));
}

static inline void q2_k_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = load_half(p + 80), b->dmin = load_half(p + 82);
    for (int i = 0; i < 16; i++) b->scale[i] = p[i] & 15, b->min[i] = p[i] >> 4;
    for (int h = 0; h < 2; h++)
        for (int j = 0; j < 4; j++)
            for (int l = 0; l < 32; l++) b->q[128 * h + 32 * j + l] = p[16 + 32 * h + l] >> 2 * j & 3;
}

static inline void q3_k_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = load_half(p + 108);
    q3_k_scales(p + 96, b->scale);
    for (int h = 0; h < 2; h++)
        for (int j = 0; j < 4; j++)
            for (int l = 0; l < 32; l++) {
                const int low = p[32 + 32 * h + l] >> 2 * j & 3, high = p[l] >> (4 * h + j) & 1;
                b->q[128 * h + 32 * j + l] = (int8_t)(low + 4 * high - 4);
            }
}

static inline void q4_k_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = load_half(p), b->dmin = load_half(p + 2);
    q4_k_scales(p + 4, b->scale, b->min);
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 32; l++) {
            b->q[64 * c + l] = p[16 + 32 * c + l] & 15;
            b->q[64 * c + 32 + l] = (int8_t)(p[16 + 32 * c + l] >> 4);
        }
}

static inline void q5_k_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = load_half(p), b->dmin = load_half(p + 2);
    q4_k_scales(p + 4, b->scale, b->min);
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 32; l++) {
            const int qs = p[48 + 32 * c + l], high = p[16 + l] >> 2 * c;
            b->q[64 * c + l] = (int8_t)((qs & 15) | (high & 1) << 4);
            b->q[64 * c + 32 + l] = (int8_t)(qs >> 4 | (high & 2) << 3);
        }
}

static inline void q6_k_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 16;
    b->d = load_half(p + 208);
    memcpy(b->scale, p + 192, 16);
    for (int h = 0; h < 2; h++)
        for (int j = 0; j < 4; j++)
            for (int l = 0; l < 32; l++) {
                const int low = p[64 * h + 32 * (j % 2) + l] >> 4 * (j / 2) & 15;
                const int high = p[128 + 32 * h + l] >> 2 * j & 3;
                b->q[128 * h + 32 * j + l] = (int8_t)((low | high << 4) - 32);
            }
}

static inline void iq4_xs_unpack(const uint8_t *p, struct block_256 *b) {
    b->part = 32;
    b->d = load_half(p);
    for (int J = 0; J < 8; J++) {
        const int low = p[4 + J / 2] >> 4 * (J % 2) & 15, high = load_u16(p + 2) >> 2 * J & 3;
        b->scale[J] = (int8_t)((low | high << 4) - 32);
        unpack_table_32(p + 8 + 16 * J, iq4_values, b->q + 32 * J);
    }
}

#endif
