// tensor/block_rows.c - dequantizes rows of the types of blocks.h.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include <stdbool.h>

static inline void dequantize(void (*unpack)(const uint8_t *, struct block_32 *), size_t block_bytes, bool has_min,
                              const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    struct block_32 b;
    for (size_t i = 0; i < n / BLOCK_32; i++, p += block_bytes) {
        unpack(p, &b);
        for (int j = 0; j < BLOCK_32; j++, dst++) {
            *dst = b.d * (float)b.q[j];
            if (has_min) *dst += b.m;
        }
    }
}

#define DEFINE_DEQUANTIZE(type, block_bytes, has_min)                                                                \
    void type##_dequantize_row(const void *src, float *dst, size_t n) {                                              \
        dequantize(type##_unpack, block_bytes, has_min, src, dst, n);                                                \
    }
DEFINE_DEQUANTIZE(q8_0, Q8_0_BYTES, false)
DEFINE_DEQUANTIZE(q4_0, Q4_0_BYTES, false)
DEFINE_DEQUANTIZE(q4_1, Q4_1_BYTES, true)
DEFINE_DEQUANTIZE(q5_0, Q5_0_BYTES, false)
DEFINE_DEQUANTIZE(q5_1, Q5_1_BYTES, true)
DEFINE_DEQUANTIZE(iq4_nl, IQ4_NL_BYTES, false)

// Longer blocks, which are several of 32 numbers with one scale.
static inline void dequantize_parts(void (*unpack)(const uint8_t *, size_t, struct block_32 *), size_t block_bytes,
                                    size_t n_parts, const uint8_t *src, float *dst, size_t n) {
    struct block_32 b;
    for (size_t i = 0; i < n / BLOCK_32; i++) {
        unpack(src + i / n_parts * block_bytes, i % n_parts, &b);
        for (int j = 0; j < BLOCK_32; j++) *dst++ = b.d * (float)b.q[j];
    }
}
void q1_0_dequantize_row(const void *src, float *dst, size_t n) {
    dequantize_parts(q1_0_unpack, Q1_0_BYTES, Q1_0_LEN / BLOCK_32, src, dst, n);
}
void q2_0_dequantize_row(const void *src, float *dst, size_t n) {
    dequantize_parts(q2_0_unpack, Q2_0_BYTES, Q2_0_LEN / BLOCK_32, src, dst, n);
}

void nvfp4_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i += NVFP4_LEN, p += NVFP4_BYTES) nvfp4_unpack(p, dst + i);
}

// Exact in any floating-point mode: with the two smallest scales a value may be denormal, which arithmetic would flush to zero.
static float mxfp4_value(uint8_t e, int8_t v) {
    if (e >= 2) return mxfp4_scale(e) * (float)v;
    const uint32_t magnitude = (uint32_t)(v < 0 ? -v : v) << e, sign = v < 0 ? 0x80000000u : 0; // in units of 2^-128
    if (magnitude < 4) return f32_from_bits(sign | magnitude * 0x200000u);                      // below 2^-126
    return (v < 0 ? -0x1p-126f : 0x1p-126f) * ((float)magnitude * 0.25f);
}

void mxfp4_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    struct block_32 b;
    for (size_t i = 0; i < n / BLOCK_32; i++, p += MXFP4_BYTES) {
        mxfp4_unpack(p, &b);
        for (int j = 0; j < BLOCK_32; j++) *dst++ = mxfp4_value(p[0], b.q[j]);
    }
}
