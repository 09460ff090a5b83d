// kernels/ref/act_ref.c - converts a row of activations to the formats that matrix products take.
#include "kernels/act_q8.h"
#include "kernels/ref/ref.h"
#include "tensor/half.h"
#include <math.h>
#include <string.h>

void ref_prepare_f32(const float *x, size_t k, void *act) {
    if (k) memcpy(act, x, 4 * k);
}

void ref_prepare_bf16(const float *x, size_t k, void *act) {
    uint16_t *const y = act;
    for (size_t i = 0; i < (k + 31) / 32 * 32; i++) y[i] = i < k ? bf16_from_f32(x[i]) : 0;
}

// Quantizes n numbers of a block of `block`; the rest of the block is zero. Returns the scale.
static float quantize_block(const float *x, size_t n, size_t block, int8_t *a) {
    float amax = 0;
    for (size_t i = 0; i < n; i++) amax = max_or_nan(amax, fabsf(x[i]));
    memset(a, 0, block);
    if (!isfinite(amax)) return NAN;
    if (amax < ACT_Q8_MIN_AMAX) return 0;
    const float inverse = 127 / amax;
    // Ties to even; at most 127, since x * (127 / amax) rounds to at most that.
    for (size_t i = 0; i < n; i++) a[i] = (int8_t)lrintf(x[i] * inverse);
    return amax / 127;
}

void ref_prepare_q8_32(const float *x, size_t k, void *act) {
    const struct act_q8_out out = act_q8_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_BLOCK) {
        const size_t b = i / ACT_Q8_BLOCK, n = k - i < ACT_Q8_BLOCK ? k - i : ACT_Q8_BLOCK;
        out.d[b] = quantize_block(x + i, n, ACT_Q8_BLOCK, out.a + i);
        out.b[b] = 0;
        for (size_t j = 0; j < ACT_Q8_BLOCK; j++) out.b[b] += out.a[i + j];
        out.s[b] = out.d[b] * (float)out.b[b];
    }
}

// The sums of block b, after its numbers.
static void sum_k_block(struct act_q8_k_out out, size_t b) {
    int previous = 0;
    for (size_t i = 0; i < 16; i++) {
        const int8_t *const a = out.a + 256 * b + 16 * i;
        int16_t *const pair = out.pairs + 32 * b + 2 * i;
        pair[0] = pair[1] = 0;
        for (size_t j = 0; j < 16; j++) pair[j / 2 % 2] = (int16_t)(pair[j / 2 % 2] + a[j]);
        const int sum = pair[0] + pair[1];
        int8_t *const b16 = out.b16 + 32 * b + i, *const b32 = out.b32 + 16 * b + i / 2;
        act_q8_split(sum, b16, b16 + 16);
        if (i % 2) act_q8_split(previous + sum, b32, b32 + 8);
        previous = sum;
    }
}

void ref_prepare_q8_256(const float *x, size_t k, void *act) {
    const struct act_q8_k_out out = act_q8_k_sections(act, k);
    for (size_t i = 0; i < k; i += ACT_Q8_K_BLOCK) {
        const size_t b = i / ACT_Q8_K_BLOCK, n = k - i < ACT_Q8_K_BLOCK ? k - i : ACT_Q8_K_BLOCK;
        out.d[b] = quantize_block(x + i, n, ACT_Q8_K_BLOCK, out.a + i);
        sum_k_block(out, b);
    }
}
