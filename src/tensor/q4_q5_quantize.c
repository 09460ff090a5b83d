// tensor/q4_q5_quantize.c - quantizes rows to Q4_0, Q4_1, Q5_0 and Q5_1: as the reference does, or by search if errors have weights.
#include "tensor/blocks.h"
#include "tensor/rows.h"
#include "tensor/scale_search.h"
#include <math.h>

// The offsets of a type's fields, and its highest code; `fifth` 0: none. Types without a minimum subtract half the number of codes.
struct layout {
    size_t bytes, min, fifth, nibbles;
    int highest;
};
static const struct layout q4_0 = {Q4_0_BYTES, 0, 0, 2, 15}, q4_1 = {Q4_1_BYTES, 2, 0, 4, 15},
                           q5_0 = {Q5_0_BYTES, 0, 2, 6, 31}, q5_1 = {Q5_1_BYTES, 2, 4, 8, 31};

static void put_code(const struct layout *t, uint8_t *block, int n, int q) {
    put_nibble_32(block + t->nibbles, n, q & 15);
    if (t->fifth) put_bit_32(block + t->fifth, n, q >> 4);
}

static int held(int q, int highest) { return q > highest ? highest : q < 0 ? 0 : q; }

// 1 / d; 0 if the scale is 0 or too small to invert.
static float inverse_of(float d) { return isinf(1 / d) ? 0 : 1 / d; }

// The scale maps the number of largest magnitude (the first one, if several are equal) to the lowest code.
static void by_rule(const struct layout *t, const float *x, uint8_t *block) {
    float largest = x[0];
    for (int i = 1; i < BLOCK_32; i++)
        if (fabsf(x[i]) > fabsf(largest)) largest = x[i];
    const int half = (t->highest + 1) / 2;
    const float d = largest / (float)-half, inverse = inverse_of(d);
    store_u16(block, f16_from_f32(d));
    for (int i = 0; i < BLOCK_32; i++)
        put_code(t, block, i, held((int)(x[i] * inverse + ((float)half + 0.5f)), t->highest));
}

static void by_rule_with_min(const struct layout *t, const float *x, uint8_t *block) {
    float min = x[0], max = x[0];
    for (int i = 1; i < BLOCK_32; i++) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
    }
    const float d = (max - min) / (float)t->highest, inverse = inverse_of(d);
    store_u16(block, f16_from_f32(d));
    store_u16(block + t->min, f16_from_f32(min));
    for (int i = 0; i < BLOCK_32; i++) put_code(t, block, i, held((int)((x[i] - min) * inverse + 0.5f), t->highest));
}

static void by_search(const struct layout *t, const float *x, const float *w, uint8_t *block) {
    const int half = (t->highest + 1) / 2;
    store_u16(block,
              f16_from_f32(search_scale(x, w, BLOCK_32, (struct codes){(float)-half, (float)(half - 1), NULL, 0})));
    const float d = load_half(block);
    for (int i = 0; i < BLOCK_32; i++) put_code(t, block, i, nearest_code(x[i], d, -half, half - 1) + half);
}

static void by_search_with_min(const struct layout *t, const float *x, const float *w, uint8_t *block) {
    const struct line l = search_line(x, w, BLOCK_32, t->highest);
    store_u16(block, f16_from_f32(l.d));
    store_u16(block + t->min, f16_from_f32(l.m));
    const float d = load_half(block), m = load_half(block + t->min);
    for (int i = 0; i < BLOCK_32; i++) put_code(t, block, i, nearest_code(x[i] - m, d, 0, t->highest));
}

static void quantize(const struct layout *t, const float *src, const float *importance, uint8_t *block, size_t n) {
    float w[BLOCK_32];
    for (size_t i = 0; i < n; i += BLOCK_32, block += t->bytes) {
        const float *const x = src + i;
        memset(block, 0, t->bytes);
        if (!importance) {
            (t->min ? by_rule_with_min : by_rule)(t, x, block);
            continue;
        }
        search_weights(x, importance + i, BLOCK_32, mean_square_of(x, BLOCK_32), w);
        (t->min ? by_search_with_min : by_search)(t, x, w, block);
    }
}

#define DEFINE_QUANTIZE(type)                                                                                        \
    void type##_quantize_row(const float *src, const float *importance, void *dst, size_t n) {                       \
        quantize(&type, src, importance, dst, n);                                                                    \
    }
DEFINE_QUANTIZE(q4_0)
DEFINE_QUANTIZE(q4_1)
DEFINE_QUANTIZE(q5_0)
DEFINE_QUANTIZE(q5_1)
