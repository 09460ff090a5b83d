// tensor/q8_0.c - rows of Q8_0: 32 signed bytes and one scale.
#include "tensor/blocks.h"
#include "tensor/half.h"
#include "tensor/rows.h"
#include <math.h>

void q8_0_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t b = 0; b < n / BLOCK_32; b++, block += Q8_0_BYTES) {
        const float d = f16_to_f32(load_u16(block));
        for (int i = 0; i < BLOCK_32; i++) *dst++ = d * (float)(int8_t)block[2 + i];
    }
}

// The reference's rule: the scale in float, halves rounded away from zero, and only then the scale to F16.
void q8_0_quantize_row(const float *src, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t b = 0; b < n / BLOCK_32; b++, src += BLOCK_32, block += Q8_0_BYTES) {
        float amax = 0;
        for (int i = 0; i < BLOCK_32; i++) amax = fmaxf(amax, fabsf(src[i]));
        const float d = amax / 127, inverse = 1 / d;
        store_u16(block, f16_from_f32(d));
        // A scale so small that its inverse overflows is 0 in F16: the numbers no longer matter.
        for (int i = 0; i < BLOCK_32; i++)
            block[2 + i] = isinf(inverse) ? 0 : (uint8_t)(int8_t)roundf(src[i] * inverse);
    }
}
