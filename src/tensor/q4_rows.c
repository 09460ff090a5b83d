// tensor/q4_rows.c - rows of Q4_0 and Q4_1: 32 nibbles with a scale, and in Q4_1 a minimum.
#include "tensor/blocks.h"
#include "tensor/half.h"
#include "tensor/rows.h"
#include <math.h>

void q4_0_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t b = 0; b < n / BLOCK_32; b++, block += Q4_0_BYTES) {
        const float d = f16_to_f32(load_u16(block));
        for (int i = 0; i < BLOCK_32; i++) *dst++ = d * (float)(nibble_32(block + 2, i) - 8);
    }
}

void q4_1_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t b = 0; b < n / BLOCK_32; b++, block += Q4_1_BYTES) {
        const float d = f16_to_f32(load_u16(block)), m = f16_to_f32(load_u16(block + 2));
        for (int i = 0; i < BLOCK_32; i++) *dst++ = d * (float)nibble_32(block + 4, i) + m;
    }
}

// qs = trunc((x - zero) * inverse + half), held to 0..15; inverse = 0 where the scale is 0 or too small to invert.
static void quantize_nibbles(const float *x, float zero, float d, float half, uint8_t *qs) {
    const float inverse = isinf(1 / d) ? 0 : 1 / d;
    for (int i = 0; i < BLOCK_32; i++) {
        const int q = (int)((x[i] - zero) * inverse + half), clipped = q > 15 ? 15 : q < 0 ? 0 : q;
        if (i < 16)
            qs[i] = (uint8_t)clipped;
        else
            qs[i - 16] = (uint8_t)(qs[i - 16] | clipped << 4);
    }
}

// The scale maps the number of largest magnitude (the first of equals) to -8.
void q4_0_quantize_row(const float *src, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t b = 0; b < n / BLOCK_32; b++, src += BLOCK_32, block += Q4_0_BYTES) {
        float largest = src[0];
        for (int i = 1; i < BLOCK_32; i++)
            if (fabsf(src[i]) > fabsf(largest)) largest = src[i];
        const float d = largest / -8;
        store_u16(block, f16_from_f32(d));
        quantize_nibbles(src, 0, d, 8.5f, block + 2);
    }
}

void q4_1_quantize_row(const float *src, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t b = 0; b < n / BLOCK_32; b++, src += BLOCK_32, block += Q4_1_BYTES) {
        float min = src[0], max = src[0];
        for (int i = 1; i < BLOCK_32; i++) {
            if (src[i] < min) min = src[i];
            if (src[i] > max) max = src[i];
        }
        const float d = (max - min) / 15;
        store_u16(block, f16_from_f32(d));
        store_u16(block + 2, f16_from_f32(min));
        quantize_nibbles(src, min, d, 0.5f, block + 4);
    }
}
