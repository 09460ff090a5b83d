// tests/support/any_blocks.c - see any_blocks.h.
#include "tests/support/any_blocks.h"
#include "base/hash.h"
#include "tensor/blocks.h"
#include <math.h>

struct block_halves block_halves_of(enum tensor_type type) {
    static const struct block_halves halves[TENSOR_N_TYPES] = {
        [TENSOR_Q8_0] = {1, {0}},      [TENSOR_Q4_0] = {1, {0}},    [TENSOR_Q4_1] = {2, {0, 2}},
        [TENSOR_Q5_0] = {1, {0}},      [TENSOR_Q5_1] = {2, {0, 2}}, [TENSOR_IQ4_NL] = {1, {0}},
        [TENSOR_Q2_K] = {2, {80, 82}}, [TENSOR_Q3_K] = {1, {108}},  [TENSOR_Q4_K] = {2, {0, 2}},
        [TENSOR_Q5_K] = {2, {0, 2}},   [TENSOR_Q6_K] = {1, {208}},  [TENSOR_IQ4_XS] = {1, {0}},
        [TENSOR_IQ2_XXS] = {1, {0}},   [TENSOR_IQ2_XS] = {1, {0}},  [TENSOR_IQ2_S] = {1, {0}},
        [TENSOR_IQ3_XXS] = {1, {0}},   [TENSOR_IQ3_S] = {1, {0}},   [TENSOR_IQ1_S] = {1, {0}},
        [TENSOR_TQ1_0] = {1, {52}},    [TENSOR_TQ2_0] = {1, {64}},  [TENSOR_Q1_0] = {1, {0}},
        [TENSOR_Q2_0] = {1, {0}},
    };
    return halves[type];
}

bool any_blocks_only(enum tensor_type type) {
    return type == TENSOR_MXFP4 || type == TENSOR_Q2_K || type == TENSOR_Q3_K || type >= TENSOR_IQ4_XS;
}

// Of IQ1_M: four bits above each of the four halfwords at the end.
static void put_iq1_m_scale(uint8_t *block, uint16_t half) {
    for (int i = 0; i < 4; i++) block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (half >> 4 * i & 15) << 4);
}

// The scale byte of the largest half of a scale that is not above.
static uint8_t nvfp4_scale_below(double half) {
    uint8_t s = 0;
    while (s < 126 && (double)nvfp4_scale((uint8_t)(s + 1)) <= half) s++;
    return s;
}

// The minimum is 1.5 times the scale, so that Q2_K's values lie about zero.
void put_block_scale(enum tensor_type type, uint8_t *block, double factor) {
    const struct block_halves halves = block_halves_of(type);
    for (size_t i = 0; i < halves.n; i++) {
        const uint16_t half = f16_from_f32((float)(i ? 1.5 * factor : factor));
        memcpy(block + halves.at[i], &half, 2);
    }
    if (type == TENSOR_IQ1_M) put_iq1_m_scale(block, f16_from_f32((float)factor));
    if (type == TENSOR_MXFP4) block[0] = (uint8_t)(128 + ilogb(factor)); // 2^(e - 128)
    for (int i = 0; type == TENSOR_NVFP4 && i < 4; i++) block[i] = nvfp4_scale_below(factor * (1 + 0.25 * i));
}

static double root_mean_square(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)n);
}

void any_blocks(enum tensor_type type, float size, uint64_t seed, uint8_t *out, size_t n_blocks) {
    const struct tensor_type_info *const t = tensor_type_info(type);
    float values[256];
    for (size_t b = 0; b < n_blocks; b++, out += t->block_bytes) {
        for (size_t i = 0; i < t->block_bytes; i++) out[i] = (uint8_t)hash_u64(b * t->block_bytes + i, seed);
        for (size_t i = 0; (type == TENSOR_TQ2_0 || type == TENSOR_Q2_0) && i < t->block_bytes;
             i++) // no 3s, which TQ2_0's writers never give: their mean would not be 0
            out[i] = (uint8_t)(out[i] ^ (out[i] & out[i] >> 1 & 0x55) << 1);
        put_block_scale(type, out, 1);
        t->dequantize_row(out, values, t->block_len);
        put_block_scale(type, out, (double)size / root_mean_square(values, t->block_len));
    }
}
