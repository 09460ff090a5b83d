// tensor/plain_rows.c - rows of F32, F16 and BF16; they may be unaligned.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include <string.h>

void f32_dequantize_row(const void *src, float *dst, size_t n) {
    if (n) memcpy(dst, src, 4 * n);
}
void f32_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    (void)importance; // lossless
    if (n) memcpy(dst, src, 4 * n);
}

void f16_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) dst[i] = f16_to_f32(load_u16(p + 2 * i));
}
void f16_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    (void)importance; // each number is rounded by itself
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) store_u16(p + 2 * i, f16_from_f32(src[i]));
}

void bf16_dequantize_row(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) dst[i] = bf16_to_f32(load_u16(p + 2 * i));
}
void bf16_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    (void)importance; // each number is rounded by itself
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) store_u16(p + 2 * i, bf16_from_f32(src[i]));
}
