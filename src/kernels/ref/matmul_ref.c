// kernels/ref/matmul_ref.c - the sums that define the matrix products, over weights in the file's layout.
// Formulas: docs/arithmetic.md, "matrix products".
#include "kernels/ref/ref.h"
#include "tensor/iq_blocks.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef float (*dot_fn)(const uint8_t *w, const void *x, size_t k);

static float dot_f32(const uint8_t *w, const void *x, size_t k) {
    const float *a = x;
    float acc = 0;
    for (size_t i = 0; i < k; i++) {
        float wi;
        memcpy(&wi, w + 4 * i, 4);
        acc = fmaf(wi, a[i], acc);
    }
    return acc;
}

static float dot_f16(const uint8_t *w, const void *x, size_t k) {
    const float *a = x;
    float acc = 0;
    for (size_t i = 0; i < k; i++) acc = fmaf(f16_to_f32(load_u16(w + 2 * i)), a[i], acc);
    return acc;
}

// The order of AMX's tdpbf16ps: for each 32 values one chain of FMAs over the even positions and one over the odd ones, from 0.
// Weights beyond k are zeros, which are added too.
static float sum_32_bf16(const float *w, const uint16_t *a) {
    float chain[2] = {0, 0};
    for (int i = 0; i < 32; i++) chain[i % 2] = fmaf(w[i], bf16_to_f32(a[i]), chain[i % 2]);
    return chain[0] + chain[1];
}
static float dot_bf16(const uint8_t *w, const void *x, size_t k) {
    const uint16_t *a = x;
    float acc = 0, values[32];
    for (size_t b = 0; b < k; b += 32) {
        for (size_t i = 0; i < 32; i++) values[i] = b + i < k ? bf16_to_f32(load_u16(w + 2 * (b + i))) : 0;
        acc = acc + sum_32_bf16(values, a + b);
    }
    return acc;
}
// NVFP4's numbers are exact in BF16.
static float dot_nvfp4(const uint8_t *w, const void *x, size_t k) {
    const uint16_t *a = x;
    float acc = 0, values[NVFP4_LEN];
    for (size_t b = 0; b < k; b += NVFP4_LEN, w += NVFP4_BYTES) {
        nvfp4_unpack(w, values);
        for (size_t i = 0; i < NVFP4_LEN; i += 32) acc = acc + sum_32_bf16(values + i, a + b + i);
    }
    return acc;
}

// Types with blocks of 32, from the unpacked block.
static inline float dot_32(void (*unpack)(const uint8_t *, struct block_32 *), size_t block_bytes, bool has_min,
                           const uint8_t *w, const void *x, size_t k) {
    const struct act_q8 act = act_q8_view(x, k);
    struct block_32 block;
    float acc = 0;
    for (size_t b = 0; b < k / 32; b++, w += block_bytes) {
        int isum = 0;
        unpack(w, &block);
        for (int i = 0; i < 32; i++) isum += block.q[i] * act.a[32 * b + (size_t)i];
        acc = fmaf(block.d * act.d[b], (float)isum, acc);
        if (has_min) acc = fmaf(block.m, act.s[b], acc);
    }
    return acc;
}

// Types whose blocks are several of 32 numbers with one scale.
static inline float dot_parts(void (*unpack)(const uint8_t *, size_t, struct block_32 *), size_t block_bytes,
                              size_t n_parts, const uint8_t *w, const void *x, size_t k) {
    const struct act_q8 act = act_q8_view(x, k);
    struct block_32 block;
    float acc = 0;
    for (size_t b = 0; b < k / 32; b++) {
        int isum = 0;
        unpack(w + b / n_parts * block_bytes, b % n_parts, &block);
        for (int i = 0; i < 32; i++) isum += block.q[i] * act.a[32 * b + (size_t)i];
        acc = fmaf(block.d * act.d[b], (float)isum, acc);
    }
    return acc;
}
static float dot_q1_0(const uint8_t *w, const void *x, size_t k) {
    return dot_parts(q1_0_unpack, Q1_0_BYTES, Q1_0_LEN / 32, w, x, k);
}
static float dot_q2_0(const uint8_t *w, const void *x, size_t k) {
    return dot_parts(q2_0_unpack, Q2_0_BYTES, Q2_0_LEN / 32, w, x, k);
}

// Types with blocks of 256: the integer scales and minimums of the parts are multiplied within the integer sums.
static inline float dot_256(void (*unpack)(const uint8_t *, struct block_256 *), size_t block_bytes, bool has_min,
                            const uint8_t *w, const void *x, size_t k) {
    const struct act_q8_k act = act_q8_k_view(x, k);
    struct block_256 block = {0};
    float acc = 0;
    for (size_t b = 0; b < k / 256; b++, w += block_bytes) {
        int isum = 0, isum_min = 0;
        unpack(w, &block);
        for (int p = 0; p < 256 / block.part; p++) {
            const int8_t *const a = act.a + 256 * b + (size_t)(p * block.part), *const q = block.q + p * block.part;
            int sum = 0, sum_a = 0;
            for (int i = 0; i < block.part; i++) sum += q[i] * a[i], sum_a += a[i];
            isum += block.scale[p] * sum;
            isum_min += block.min[p] * sum_a;
        }
        acc = fmaf(block.d * act.d[b], (float)isum, acc);
        if (has_min) acc = fmaf(-(block.dmin * act.d[b]), (float)isum_min, acc);
    }
    return acc;
}

#define DEFINE_DOT(length, type, block_bytes, has_min)                                                               \
    static float dot_##type(const uint8_t *w, const void *x, size_t k) {                                             \
        return dot_##length(type##_unpack, block_bytes, has_min, w, x, k);                                           \
    }
DEFINE_DOT(32, q8_0, Q8_0_BYTES, false)
DEFINE_DOT(32, q4_0, Q4_0_BYTES, false)
DEFINE_DOT(32, q4_1, Q4_1_BYTES, true)
DEFINE_DOT(32, q5_0, Q5_0_BYTES, false)
DEFINE_DOT(32, q5_1, Q5_1_BYTES, true)
DEFINE_DOT(32, iq4_nl, IQ4_NL_BYTES, false)
DEFINE_DOT(32, mxfp4, MXFP4_BYTES, false)
DEFINE_DOT(256, q2_k, Q2_K_BYTES, true)
DEFINE_DOT(256, q3_k, Q3_K_BYTES, false)
DEFINE_DOT(256, q4_k, Q4_K_BYTES, true)
DEFINE_DOT(256, q5_k, Q5_K_BYTES, true)
DEFINE_DOT(256, q6_k, Q6_K_BYTES, false)
DEFINE_DOT(256, iq4_xs, IQ4_XS_BYTES, false)
DEFINE_DOT(256, tq1_0, TQ1_0_BYTES, true)
DEFINE_DOT(256, tq2_0, TQ2_0_BYTES, true)
DEFINE_DOT(256, iq2_xxs, IQ2_XXS_BYTES, false)
DEFINE_DOT(256, iq2_xs, IQ2_XS_BYTES, false)
DEFINE_DOT(256, iq2_s, IQ2_S_BYTES, false)
DEFINE_DOT(256, iq3_xxs, IQ3_XXS_BYTES, false)
DEFINE_DOT(256, iq3_s, IQ3_S_BYTES, false)
DEFINE_DOT(256, iq1_s, IQ1_S_BYTES, false)
DEFINE_DOT(256, iq1_m, IQ1_M_BYTES, false)

static inline void matmul(dot_fn dot, const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,
                          size_t act_stride, size_t n_rows, float *out, size_t out_stride) {
    for (size_t r = 0; r < n_rows; r++)
        for (size_t o = 0; o < n_out; o++)
            out[r * out_stride + o] = dot((const uint8_t *)w + o * row_bytes, (const uint8_t *)x + r * act_stride, k);
}

#define DEFINE_MATMUL(type)                                                                                          \
    void ref_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,                   \
                           size_t act_stride, size_t n_rows, float *out, size_t out_stride) {                        \
        matmul(dot_##type, w, row_bytes, n_out, k, x, act_stride, n_rows, out, out_stride);                          \
    }
DEFINE_MATMUL(f32)
DEFINE_MATMUL(f16)
DEFINE_MATMUL(bf16)
DEFINE_MATMUL(q8_0)
DEFINE_MATMUL(q4_0)
DEFINE_MATMUL(q4_1)
DEFINE_MATMUL(q5_0)
DEFINE_MATMUL(q5_1)
DEFINE_MATMUL(iq4_nl)
DEFINE_MATMUL(mxfp4)
DEFINE_MATMUL(q2_k)
DEFINE_MATMUL(q3_k)
DEFINE_MATMUL(q4_k)
DEFINE_MATMUL(q5_k)
DEFINE_MATMUL(q6_k)
DEFINE_MATMUL(iq4_xs)
DEFINE_MATMUL(tq1_0)
DEFINE_MATMUL(tq2_0)
DEFINE_MATMUL(iq2_xxs)
DEFINE_MATMUL(iq2_xs)
DEFINE_MATMUL(iq2_s)
DEFINE_MATMUL(iq3_xxs)
DEFINE_MATMUL(iq3_s)
DEFINE_MATMUL(iq1_s)
DEFINE_MATMUL(iq1_m)
DEFINE_MATMUL(q1_0)
DEFINE_MATMUL(q2_0)
DEFINE_MATMUL(nvfp4)
