// tensor/ternary_quantize.c - quantizes rows to TQ1_0 and TQ2_0: each number of a block of 256 is -d, 0 or d, the scale by search.
#include "tensor/iq_blocks.h"
#include "tensor/k_quantize.h"
#include "tensor/rows.h"

static const struct codes ternary = {-1, 1, NULL, 0};

static void ternary_digits(const float *x, const float *w, uint8_t *d_at, int *digits) {
    float d = half_rounded(search_scale(x, w, BLOCK_256, ternary));
    if (d < 0) d = -d; // the same numbers, the other way round
    store_u16(d_at, f16_from_f32(d));
    for (int n = 0; n < BLOCK_256; n++) digits[n] = nearest_code(x[n], d, -1, 1) + 1;
}

static void tq2_0_block(const float *x, const float *w, uint8_t *block) {
    int digits[BLOCK_256];
    ternary_digits(x, w, block + 64, digits);
    for (int n = 0; n < BLOCK_256; n++) put_two_bits(block, n, digits[n]);
}

// n digits, `apart` from each other, as the smallest byte whose fraction of 256 begins with them.
static uint8_t digits_byte(const int *digits, int n, int apart) {
    int value = 0;
    for (int i = 0; i < 5; i++) value = 3 * value + (i < n ? digits[i * apart] : 0);
    return (uint8_t)((value * 256 + 242) / 243);
}

static void tq1_0_block(const float *x, const float *w, uint8_t *block) {
    int digits[BLOCK_256];
    ternary_digits(x, w, block + 52, digits);
    for (int i = 0; i < 32; i++) block[i] = digits_byte(digits + i, 5, 32);
    for (int i = 0; i < 16; i++) block[32 + i] = digits_byte(digits + 160 + i, 5, 16);
    for (int i = 0; i < 4; i++) block[48 + i] = digits_byte(digits + 240 + i, 4, 4);
}

void tq1_0_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, TQ1_0_BYTES, 1, tq1_0_block);
}
void tq2_0_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    k_quantize(src, importance, dst, n, TQ2_0_BYTES, 1, tq2_0_block);
}
