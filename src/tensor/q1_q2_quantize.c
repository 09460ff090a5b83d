// tensor/q1_q2_quantize.c - quantizes rows to Q1_0, which has the numbers -d and d, and Q2_0, which has -d, 0, d and 2 d.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"
#include <math.h>

// The scale of the least error is the mean magnitude.
static float mean_magnitude(const float *x) {
    float sum = 0;
    for (int i = 0; i < Q1_0_LEN; i++) sum += fabsf(x[i]);
    return sum / Q1_0_LEN;
}
static float weighted_magnitude(const float *x, const float *w) {
    double sum = 0, weights = 0, plain = 0;
    for (int i = 0; i < Q1_0_LEN; i++) {
        sum += (double)w[i] * (double)fabsf(x[i]);
        weights += (double)w[i];
        plain += (double)fabsf(x[i]);
    }
    return (float)(weights > 0 ? sum / weights : plain / Q1_0_LEN);
}

void q1_0_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t i = 0; i < n; i += Q1_0_LEN, block += Q1_0_BYTES) {
        const float *const x = src + i;
        memset(block, 0, Q1_0_BYTES);
        store_u16(block, f16_from_f32(importance ? weighted_magnitude(x, importance + i) : mean_magnitude(x)));
        for (int j = 0; j < Q1_0_LEN; j++) put_bit_32(block + 2, j, x[j] >= 0);
    }
}

static const struct codes q2_codes = {-1, 2, NULL, 0};

void q2_0_quantize_row(const float *src, const float *importance, void *dst, size_t n) {
    uint8_t *block = dst;
    float w[Q2_0_LEN];
    for (size_t i = 0; i < n; i += Q2_0_LEN, block += Q2_0_BYTES) {
        const float *const x = src + i;
        search_weights(x, importance ? importance + i : NULL, Q2_0_LEN, mean_square_of(x, Q2_0_LEN), w);
        memset(block, 0, Q2_0_BYTES);
        store_u16(block, f16_from_f32(search_scale(x, w, Q2_0_LEN, q2_codes)));
        const float d = load_half(block);
        for (int j = 0; j < Q2_0_LEN; j++) {
            uint8_t *const byte = block + 2 + j / 4;
            *byte = (uint8_t)(*byte | (nearest_code(x[j], d, -1, 2) + 1) << j % 4 * 2);
        }
    }
}
