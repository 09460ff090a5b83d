// tests/kernels/sums_test.c - the reference's sums against the same sums in double, within bounds that are derived, not tuned:
// a chain of n rounded additions or fused steps errs by at most gamma_n * sum |terms|, gamma_n = n u / (1 - n u), u = 2^-24
// (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3).
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/half.h"
#include "tests/check.h"
#include "tests/support/any_blocks.h"
#include <math.h>
#include <string.h>

enum { K = 512, N_OUT = 7, N_ROWS = 3 };

static double gamma_n(double n) { return n * 0x1p-24 / (1 - n * 0x1p-24); }
static float noise(uint64_t i, uint64_t seed) { return (float)(hash_u64(i, seed) >> 40) * 0x1p-23f - 1; }

// The numbers that a prepared row represents.
static void act_values(enum act_format f, const void *act, size_t k, double *x) {
    const struct act_q8 q8 = act_q8_view(act, k);
    const struct act_q8_k q8_k = act_q8_k_view(act, k);
    for (size_t i = 0; i < k; i++)
        x[i] = f == ACT_F32     ? (double)((const float *)act)[i]
               : f == ACT_BF16  ? (double)bf16_to_f32(((const uint16_t *)act)[i])
               : f == ACT_Q8_32 ? (double)q8.d[i / 32] * q8.a[i]
                                : (double)q8_k.d[i / 256] * q8_k.a[i];
}

static bool has_min(enum tensor_type t) {
    return t == TENSOR_Q4_1 || t == TENSOR_Q5_1 || t == TENSOR_Q2_K || t == TENSOR_Q4_K || t == TENSOR_Q5_K;
}

TEST(matrix_products_are_the_exact_ones_within_the_derived_bound) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    for (int t = 0; t < TENSOR_N_TYPES; t++) {
        const struct tensor_type_info *const info = tensor_type_info((enum tensor_type)t);
        static float rows[N_OUT * K], x[K], out[N_ROWS * N_OUT];
        static _Alignas(64) uint8_t w[N_OUT * K * 4], act[N_ROWS][K * 4 + 256];
        const size_t row_bytes = K / info->block_len * info->block_bytes;
        for (size_t i = 0; i < N_OUT * K; i++) rows[i] = noise(i, 1);
        if (info->quantize_row)
            info->quantize_row(rows, NULL, w, N_OUT * K);
        else
            any_blocks(info->type, 0.3f, 5, w, N_OUT * K / info->block_len);
        info->dequantize_row(w, rows, N_OUT * K);
        for (size_t r = 0; r < N_ROWS; r++) {
            for (size_t i = 0; i < K; i++) x[i] = noise(i, 2 + r);
            CHECK(act_bytes(ref->matmul[t].act, K) <= sizeof act[r]);
            ref->prepare_act[ref->matmul[t].act](x, K, act[r]);
        }
        ref->matmul[t].matmul(w, row_bytes, N_OUT, K, act, sizeof *act, N_ROWS, out, N_OUT);
        for (size_t r = 0; r < N_ROWS; r++)
            for (size_t o = 0; o < N_OUT; o++) {
                double exact = 0, magnitude = 0, values[K];
                act_values(ref->matmul[t].act, act[r], K, values);
                for (size_t i = 0; i < K; i++) {
                    exact += (double)rows[o * K + i] * values[i];
                    magnitude += fabs((double)rows[o * K + i] * values[i]);
                }
                // No sum has a longer chain than K steps and the roundings of a scale, a minimum and a dequantized weight. With
                // a minimum, the parts d*q and m may be larger than their sum: |m| <= 1 and |q d| <= 2 for weights in [-1, 1].
                if (has_min((enum tensor_type)t))
                    for (size_t i = 0; i < K; i++) magnitude += 3 * fabs(values[i]);
                check_note("%s row %zu output %zu: %g, exact %g", info->name, r, o, (double)out[r * N_OUT + o],
                           exact);
                CHECK(fabs((double)out[r * N_OUT + o] - exact) <= gamma_n(K + 4) * magnitude);
            }
    }
    fp_mode_leave(mode);
}

// GCC 12.2 compiles this sum to an unsigned product when VNNI instructions are enabled (docs/kernels.md, "traps").
TEST(weights_of_minus_128_keep_their_sign) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    uint8_t block[34];
    float x[32], out;
    _Alignas(64) uint8_t act[256];
    for (int i = 0; i < 32; i++) x[i] = i % 4 == 3 ? -127 : 127;
    block[0] = 0, block[1] = 0x3c; // F16 1.0
    memset(block + 2, 0x80, 32);
    ref->prepare_act[ACT_Q8_32](x, 32, act);
    ref->matmul[TENSOR_Q8_0].matmul(block, 34, 1, 32, act, 256, 1, &out, 1);
    CHECK(out == -128 * 127 * 16);
}

TEST(prepared_bytes_are_within_half_a_step_and_carry_their_sums) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    enum { N = 77 }; // the last block holds 13
    float x[N];
    _Alignas(64) uint8_t act[1024];
    for (size_t i = 0; i < N; i++) x[i] = noise(i, 9) * (i < 32 ? 1e-6f : 1e6f);
    ref->prepare_act[ACT_Q8_32](x, N, act);
    const struct act_q8 q = act_q8_view(act, N);
    for (size_t b = 0; b < 3; b++) {
        int32_t sum = 0;
        for (size_t i = 32 * b; i < 32 * b + 32; i++) {
            const double value = i < N ? (double)x[i] : 0;
            sum += q.a[i];
            CHECK(q.a[i] >= -127 &&
                  fabs(value - (double)q.d[b] * q.a[i]) <= (double)q.d[b] * (0.5 + 127 * gamma_n(4)));
        }
        CHECK_INT(q.b[b], sum);
        CHECK(q.s[b] == q.d[b] * (float)sum);
    }
    fp_mode_leave(mode);
}

TEST(prepared_blocks_of_256_carry_the_sums_of_their_parts) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    enum { N = 600 }; // the last block holds 88
    static float x[N];
    static _Alignas(64) uint8_t act[3 * 512];
    for (size_t i = 0; i < N; i++) x[i] = i < 256 ? (i < 64 ? 127 : i < 128 ? -127 : 1) : noise(i, 9);
    ref->prepare_act[ACT_Q8_256](x, N, act);
    const struct act_q8_k q = act_q8_k_view(act, N);
    for (size_t part = 0; part < 768 / 16; part++) {
        int pair[2] = {0}, next = 0;
        for (size_t i = 16 * part; i < 16 * part + 16; i++) {
            pair[i / 2 % 2] += q.a[i];
            if (part % 2 == 0) next += q.a[i] + q.a[i + 16];
            CHECK(q.a[i] >= -127 && (i < N || q.a[i] == 0));
            if (i < N)
                CHECK(fabs((double)x[i] - (double)q.d[i / 256] * q.a[i]) <=
                      (double)q.d[i / 256] * (0.5 + 127 * gamma_n(4)));
        }
        const size_t b = part / 16, i16 = 32 * b + part % 16, i32 = 16 * b + part % 16 / 2;
        check_note("part %zu", part);
        CHECK_INT(q.pairs[2 * part], pair[0]);
        CHECK_INT(q.pairs[2 * part + 1], pair[1]);
        CHECK_INT(128 * q.b16[i16] + q.b16[i16 + 16], pair[0] + pair[1]);
        if (part % 2 == 0) CHECK_INT(128 * q.b32[i32] + q.b32[i32 + 8], next);
        CHECK(q.b16[i16 + 16] >= -64 && q.b16[i16 + 16] < 64 && q.b32[i32 + 8] >= -64 && q.b32[i32 + 8] < 64);
    }
    fp_mode_leave(mode);
}

TEST(a_block_of_256_that_is_not_finite_or_too_small_has_no_numbers) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    static float x[768];
    static _Alignas(64) uint8_t act[3 * 512];
    x[5] = 0x1p-101f, x[256] = 1, x[300] = NAN, x[512] = 2, x[767] = INFINITY;
    ref->prepare_act[ACT_Q8_256](x, 768, act);
    const struct act_q8_k q = act_q8_k_view(act, 768);
    CHECK(q.d[0] == 0 && isnan(q.d[1]) && isnan(q.d[2]));
    for (size_t i = 0; i < 768; i++) CHECK_INT(q.a[i], 0);
    for (size_t i = 0; i < 96; i++) CHECK_INT(q.pairs[i], 0);
    fp_mode_leave(mode);
}

TEST(prepared_bytes_round_halves_to_even_and_mark_what_is_not_finite) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    float x[128] = {127, 0.5f, 1.5f, -0.5f, -2.5f, 126.5f};
    _Alignas(64) uint8_t act[1024];
    x[32] = NAN, x[33] = 5;
    x[64] = -INFINITY;
    x[96] = 0x1p-101f; // below the smallest block that is kept
    ref->prepare_act[ACT_Q8_32](x, 128, act);
    const struct act_q8 q = act_q8_view(act, 128);
    static const int8_t want[] = {127, 0, 2, 0, -2, 126};
    CHECK_MEM(q.a, want, sizeof want);
    CHECK(q.d[0] == 1);
    for (int b = 1; b < 3; b++)
        CHECK(isnan(q.d[b]) && isnan(q.s[b]) && q.b[b] == 0 && q.a[32 * b] == 0 && q.a[32 * b + 1] == 0);
    CHECK(q.d[3] == 0 && q.s[3] == 0 && q.a[96] == 0);
    fp_mode_leave(mode);
}

TEST(norm_gate_and_rotation_are_the_exact_ones_within_the_derived_bound) {
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    const fp_mode mode = fp_mode_enter();
    enum { N = 200 };
    float x[N], w[N], y[N];
    double squares = 0;
    for (size_t i = 0; i < N; i++)
        x[i] = 4 * noise(i, 20), w[i] = noise(i, 21), squares += (double)x[i] * (double)x[i];

    ref->rms_norm(x, w, N, 1e-5f, y); // 13 steps and a tree of 4, then 6 roundings
    for (size_t i = 0; i < N; i++) {
        const double exact = (double)x[i] / sqrt(squares / N + (double)1e-5f) * (double)w[i];
        CHECK(fabs((double)y[i] - exact) <= gamma_n(13 + 4 + 6) * fabs(exact));
    }
    ref->activate_mul[ACT_FN_SILU](x, w, N, y); // exp within 1 ulp (two units of u), three roundings
    for (size_t i = 0; i < N; i++) {
        const double exact = (double)x[i] / (1 + exp(-(double)x[i])) * (double)w[i];
        CHECK(fabs((double)y[i] - exact) <= gamma_n(5) * fabs(exact));
    }
    memcpy(y, x, sizeof y);
    ref->rope(y, 2, 100, 64, w); // two heads; the last 36 of each stay
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < 100; i++) {
            const size_t at = 100 * h + i, pair = at & ~(size_t)1, c = i & ~(size_t)1;
            const double a = (double)x[pair], b = (double)x[pair + 1], cosine = (double)w[c], sine = (double)w[c + 1];
            const double exact = i >= 64 ? (double)x[at] : i % 2 ? a * sine + b * cosine : a * cosine - b * sine;
            CHECK(fabs((double)y[at] - exact) <= gamma_n(2) * (fabs(a) + fabs(b)));
        }
    fp_mode_leave(mode);
}
