// tensor/k_rows.c - dequantizes rows of the types with blocks of 256. The scales are multiplied first, then the number, then the
// minimum is subtracted; each product and the difference are rounded.
#include "tensor/k_blocks.h"
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
