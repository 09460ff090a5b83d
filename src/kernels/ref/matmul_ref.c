// kernels/ref/matmul_ref.c - the sum that defines each matrix product; weights as the file holds them.
// Formulas: docs/arithmetic.md, "matrix products".
#include "kernels/ref/ref.h"
#include "tensor/blocks.h"
#include "tensor/half.h"
#include <math.h>
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

// The order of AMX's tdpbf16ps: in each 32 values one chain over the even positions and one over the odd ones, from 0.
// Weights beyond k are zeros that take part.
static float dot_bf16(const uint8_t *w, const void *x, size_t k) {
    const uint16_t *a = x;
    float acc = 0;
    for (size_t b = 0; b < k; b += 32) {
        float chain[2] = {0, 0};
        for (size_t i = b; i < b + 32; i++) {
            const float wi = i < k ? bf16_to_f32(load_u16(w + 2 * i)) : 0;
            chain[i % 2] = fmaf(wi, bf16_to_f32(a[i]), chain[i % 2]);
        }
        acc = acc + (chain[0] + chain[1]);
    }
    return acc;
}

static float dot_q8_0(const uint8_t *w, const void *x, size_t k) {
    const struct act_q8 act = act_q8_view(x, k);
    float acc = 0;
    for (size_t b = 0; b < k / 32; b++, w += Q8_0_BYTES) {
        int isum = 0;
        for (int i = 0; i < 32; i++) isum += (int8_t)w[2 + i] * act.a[32 * b + (size_t)i];
        acc = fmaf(f16_to_f32(load_u16(w)) * act.d[b], (float)isum, acc);
    }
    return acc;
}

static float dot_q4_0(const uint8_t *w, const void *x, size_t k) {
    const struct act_q8 act = act_q8_view(x, k);
    float acc = 0;
    for (size_t b = 0; b < k / 32; b++, w += Q4_0_BYTES) {
        int isum = 0;
        for (int i = 0; i < 32; i++) isum += (nibble_32(w + 2, i) - 8) * act.a[32 * b + (size_t)i];
        acc = fmaf(f16_to_f32(load_u16(w)) * act.d[b], (float)isum, acc);
    }
    return acc;
}

static float dot_q4_1(const uint8_t *w, const void *x, size_t k) {
    const struct act_q8 act = act_q8_view(x, k);
    float acc = 0;
    for (size_t b = 0; b < k / 32; b++, w += Q4_1_BYTES) {
        int isum = 0;
        for (int i = 0; i < 32; i++) isum += nibble_32(w + 4, i) * act.a[32 * b + (size_t)i];
        acc = fmaf(f16_to_f32(load_u16(w)) * act.d[b], (float)isum, acc);
        acc = fmaf(f16_to_f32(load_u16(w + 2)), act.s[b], acc);
    }
    return acc;
}

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
