// tests/support/any_blocks.c - see any_blocks.h.
#include "tests/support/any_blocks.h"
#include "base/hash.h"
#include "tensor/half.h"
#include <math.h>

struct block_halves block_halves_of(enum tensor_type type) {
    static const struct block_halves halves[TENSOR_N_TYPES] = {
        [TENSOR_Q8_0] = {1, {0}},      [TENSOR_Q4_0] = {1, {0}},    [TENSOR_Q4_1] = {2, {0, 2}},
        [TENSOR_Q5_0] = {1, {0}},      [TENSOR_Q5_1] = {2, {0, 2}}, [TENSOR_IQ4_NL] = {1, {0}},
        [TENSOR_Q2_K] = {2, {80, 82}}, [TENSOR_Q3_K] = {1, {108}},  [TENSOR_Q4_K] = {2, {0, 2}},
        [TENSOR_Q5_K] = {2, {0, 2}},   [TENSOR_Q6_K] = {1, {208}},  [TENSOR_IQ4_XS] = {1, {0}},
    };
    return halves[type];
}

// Both scales by a factor: the minimum's is 1.5 times the other's, so that Q2_K's values lie about zero.
static void put_scales(enum tensor_type type, uint8_t *block, double factor) {
    const struct block_halves halves = block_halves_of(type);
    for (size_t i = 0; i < halves.n; i++) {
        const uint16_t half = f16_from_f32((float)(i ? 1.5 * factor : factor));
        memcpy(block + halves.at[i], &half, 2);
    }
    if (type == TENSOR_MXFP4) block[0] = (uint8_t)(128 + ilogb(factor)); // 2^(e - 128)
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
        put_scales(type, out, 1);
        t->dequantize_row(out, values, t->block_len);
        put_scales(type, out, (double)size / root_mean_square(values, t->block_len));
    }
}
