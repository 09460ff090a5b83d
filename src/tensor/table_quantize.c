// tensor/table_quantize.c - quantizes rows to IQ4_NL and MXFP4, whose numbers are those of a table, by search.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"
#include <math.h>

static const struct codes iq4_codes = {-127, 113, iq4_values, 16};

void iq4_nl_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    float w[BLOCK_32];
    for (size_t i = 0; i < n; i += BLOCK_32, block += IQ4_NL_BYTES) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, BLOCK_32, mean_square_of(x, BLOCK_32), w);
        memset(block, 0, IQ4_NL_BYTES);
        store_u16(block, f16_from_f32(search_scale(x, w, BLOCK_32, iq4_codes)));
        const float d = load_half(block);
        for (int j = 0; j < BLOCK_32; j++) put_nibble_32(block + 2, j, nearest_entry(x[j], d, iq4_codes));
    }
}

// MXFP4's numbers, doubled and ascending; the nibble of entry i is i - 7, or 8 + 7 - i below zero.
static const int8_t mxfp4_ascending[15] = {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12};
static const struct codes mxfp4_codes = {-12, 12, mxfp4_ascending, 15};

// Exponents: below 2 the scale is denormal; 254 is the last whose numbers are all finite.
enum { MXFP4_LEAST_E = 2, MXFP4_MOST_E = 252, MXFP4_BIAS = 128 };

// The exponent by the rule of OCP Microscaling Formats 1.0 (the largest number lies between 4 and 8 times the scale), and its neighbours: the
// one with the smallest error. 0: all numbers are smaller than any scale that is not denormal, or zeros.
static int best_exponent(const float *x, const float *w) {
    float most = 0;
    for (int j = 0; j < BLOCK_32; j++) most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
    if (!(most >= 0x1p-120f)) return 0;
    const int by_rule = ilogbf(most) - 3 + MXFP4_BIAS;
    int best = 0;
    float best_error = INFINITY;
    for (int e = by_rule - 1; e <= by_rule + 1; e++) {
        if (e < MXFP4_LEAST_E || e > MXFP4_MOST_E) continue;
        const float error = scale_error(x, w, BLOCK_32, mxfp4_scale((uint8_t)e), mxfp4_codes);
        if (error < best_error) best = e, best_error = error;
    }
    return best ? best : MXFP4_MOST_E;
}

void mxfp4_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    float w[BLOCK_32];
    for (size_t i = 0; i < n; i += BLOCK_32, block += MXFP4_BYTES) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, BLOCK_32, mean_square_of(x, BLOCK_32), w);
        memset(block, 0, MXFP4_BYTES);
        block[0] = (uint8_t)best_exponent(x, w);
        for (int j = 0; block[0] && j < BLOCK_32; j++) {
            const int entry = nearest_entry(x[j], mxfp4_scale(block[0]), mxfp4_codes);
            put_nibble_32(block + 1, j, entry < 7 ? 15 - entry : entry - 7);
        }
    }
}
