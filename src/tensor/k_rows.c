// tensor/k_rows.c - dequantizes rows of the types with blocks of 256. The scales are multiplied first, then the number, then the
// minimum is subtracted; each product and the difference are rounded.
#include "tensor/iq_blocks.h"
#include "tensor/rows.h"

static inline void dequantize(void (*unpack)(const uint8_t *, struct block_256 *), size_t block_bytes,
                              const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    struct block_256 b = {0}; // types without a minimum subtract 0, which is exact
    for (size_t i = 0; i < n / BLOCK_256; i++, p += block_bytes) {
        unpack(p, &b);
        for (int part = 0; part < BLOCK_256 / b.part; part++) {
            const float d = b.d * (float)b.scale[part], m = b.dmin * (float)b.min[part];
            for (int j = 0; j < b.part; j++) *dst++ = d * (float)b.q[part * b.part + j] - m;
        }
    }
}

#define DEFINE_DEQUANTIZE(type, block_bytes)                                                                         \
    void type##_dequantize_row(const void *src, float *dst, size_t n) {                                              \
        dequantize(type##_unpack, block_bytes, src, dst, n);                                                         \
    }
DEFINE_DEQUANTIZE(q2_k, Q2_K_BYTES)
DEFINE_DEQUANTIZE(q3_k, Q3_K_BYTES)
DEFINE_DEQUANTIZE(q4_k, Q4_K_BYTES)
DEFINE_DEQUANTIZE(q5_k, Q5_K_BYTES)
DEFINE_DEQUANTIZE(q6_k, Q6_K_BYTES)
DEFINE_DEQUANTIZE(iq4_xs, IQ4_XS_BYTES)
DEFINE_DEQUANTIZE(iq2_xxs, IQ2_XXS_BYTES)
DEFINE_DEQUANTIZE(iq2_xs, IQ2_XS_BYTES)
DEFINE_DEQUANTIZE(iq2_s, IQ2_S_BYTES)
DEFINE_DEQUANTIZE(iq3_xxs, IQ3_XXS_BYTES)
DEFINE_DEQUANTIZE(iq3_s, IQ3_S_BYTES)
DEFINE_DEQUANTIZE(iq1_s, IQ1_S_BYTES)
DEFINE_DEQUANTIZE(iq1_m, IQ1_M_BYTES)

// The ternary types: q - 1 first, so that a scale below zero gives the zeros that the formula gives.
static inline void dequantize_ternary(void (*unpack)(const uint8_t *, struct block_256 *), size_t block_bytes,
                                      const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    struct block_256 b;
    for (size_t i = 0; i < n / BLOCK_256; i++, p += block_bytes) {
        unpack(p, &b);
        for (int j = 0; j < BLOCK_256; j++) *dst++ = b.d * (float)(b.q[j] - 1);
    }
}
void tq1_0_dequantize_row(const void *src, float *dst, size_t n) {
    dequantize_ternary(tq1_0_unpack, TQ1_0_BYTES, src, dst, n);
}
void tq2_0_dequantize_row(const void *src, float *dst, size_t n) {
    dequantize_ternary(tq2_0_unpack, TQ2_0_BYTES, src, dst, n);
}
