// tests/tensor/quantize_test.c - the searched quantizers: how near they come, and what they do with rows that searches trip over.
#include "base/hash.h"
#include "base/pool.h"
#include "tensor/types.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROWS = 64, K = 256, N = N_ROWS * K };

static const enum tensor_type written[] = {TENSOR_Q8_0,   TENSOR_Q4_0,    TENSOR_Q4_1,  TENSOR_Q5_0,   TENSOR_Q5_1,
                                           TENSOR_IQ4_NL, TENSOR_Q4_K,    TENSOR_Q5_K,  TENSOR_Q6_K,   TENSOR_Q2_K,
                                           TENSOR_Q3_K,   TENSOR_IQ4_XS,  TENSOR_MXFP4, TENSOR_TQ1_0,  TENSOR_TQ2_0,
                                           TENSOR_IQ3_S,  TENSOR_IQ3_XXS, TENSOR_IQ2_S, TENSOR_IQ2_XS, TENSOR_IQ2_XXS,
                                           TENSOR_IQ1_M,  TENSOR_IQ1_S,   TENSOR_Q1_0,  TENSOR_Q2_0};
enum { N_WRITTEN = sizeof written / sizeof *written };

// How far types that have little to choose from may be off, as a part of the largest number: MXFP4 has powers of two as scales (0.3 becomes
// 0.25), the ternary types have one number beside zero, points of a grid are not everywhere, Q1_0 has no zero, and where signs must be an even number one is wrong.
static double coarseness(enum tensor_type type) {
    switch (type) {
    case TENSOR_MXFP4: return 0.17;
    case TENSOR_IQ3_S: return 0.28;
    case TENSOR_IQ2_S: return 0.41;
    case TENSOR_IQ1_M:
    case TENSOR_IQ1_S: return 0.53;
    case TENSOR_TQ1_0:
    case TENSOR_TQ2_0: return 0.67;
    case TENSOR_Q2_0: return 0.5;
    case TENSOR_Q1_0: return 1;
    case TENSOR_IQ3_XXS:
    case TENSOR_IQ2_XS:
    case TENSOR_IQ2_XXS: return 2.5;
    default: return 0;
    }
}

static double uniform(uint64_t i, uint64_t seed) { return (double)(hash_u64(i, seed) >> 40) * 0x1p-24; }

// Normal: twelve uniform numbers added. Heavy: divided by a uniform one, so that a few are twenty times the others.
enum rows { NORMAL, HEAVY };
static float number(enum rows rows, uint64_t i) {
    double x = 0;
    for (uint64_t seed = 0; seed < 12; seed++) x += uniform(i, seed);
    x -= 6;
    return (float)(rows == HEAVY ? x / (uniform(i, 12) + 1.0 / 16) : x);
}
static float importance_of(uint64_t i) { return (float)(uniform(i % K, 13) + 1.0 / 64); }

// Quantized and back; importance NULL or [n].
static void round_trip(enum tensor_type type, const float *x, const float *importance, float *back, size_t n) {
    const struct tensor_type_info *const t = tensor_type_info(type);
    uint8_t *const packed = malloc(4 * n);
    t->quantize_row(x, importance, packed, n);
    t->dequantize_row(packed, back, n);
    free(packed);
}

static double relative_error(const float *x, const float *back, const float *importance, size_t n) {
    double error = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = importance ? (double)importance[i] : 1, e = (double)back[i] - (double)x[i];
        error += w * e * e;
        all += w * (double)x[i] * (double)x[i];
    }
    return error / all;
}

// IQ1's scales are not those of the least error, here or there (iq_quantize.c: raise_d): what is compared is the error but for a common factor.
static void fit_factor(const float *x, float *back, const float *importance, size_t n) {
    double xb = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        const double w = importance ? (double)importance[i] : 1, b = (double)back[i];
        xb += w * (double)x[i] * b, bb += w * b * b;
    }
    for (size_t i = 0; i < n; i++) back[i] = (float)((double)back[i] * (xb / bb));
}

// Sum of w * error^2 over sum of w * x^2 of the reference implementation on these rows (peer_errors.py).
static const struct {
    enum tensor_type type;
    enum rows rows;
    bool weighted;
    double error;
} reference[] = {
    {TENSOR_Q8_0, NORMAL, false, 2.79913e-05},    {TENSOR_Q8_0, NORMAL, true, 2.76715e-05},
    {TENSOR_Q8_0, HEAVY, false, 7.35183e-05},     {TENSOR_Q8_0, HEAVY, true, 7.21189e-05},
    {TENSOR_Q4_0, NORMAL, false, 7.13605e-03},    {TENSOR_Q4_0, NORMAL, true, 6.10085e-03},
    {TENSOR_Q4_0, HEAVY, false, 1.83358e-02},     {TENSOR_Q4_0, HEAVY, true, 1.68896e-02},
    {TENSOR_Q4_1, NORMAL, false, 5.95100e-03},    {TENSOR_Q4_1, NORMAL, true, 4.40010e-03},
    {TENSOR_Q4_1, HEAVY, false, 1.13355e-02},     {TENSOR_Q4_1, HEAVY, true, 8.57499e-03},
    {TENSOR_Q5_0, NORMAL, false, 1.75915e-03},    {TENSOR_Q5_0, NORMAL, true, 1.50715e-03},
    {TENSOR_Q5_0, HEAVY, false, 4.69357e-03},     {TENSOR_Q5_0, HEAVY, true, 4.37804e-03},
    {TENSOR_Q5_1, NORMAL, false, 1.40546e-03},    {TENSOR_Q5_1, NORMAL, true, 1.01900e-03},
    {TENSOR_Q5_1, HEAVY, false, 2.66913e-03},     {TENSOR_Q5_1, HEAVY, true, 2.01230e-03},
    {TENSOR_IQ4_NL, NORMAL, false, 5.66621e-03},  {TENSOR_IQ4_NL, NORMAL, true, 5.21705e-03},
    {TENSOR_IQ4_NL, HEAVY, false, 1.12787e-02},   {TENSOR_IQ4_NL, HEAVY, true, 1.03216e-02},
    {TENSOR_Q4_K, NORMAL, false, 4.88981e-03},    {TENSOR_Q4_K, NORMAL, true, 4.51736e-03},
    {TENSOR_Q4_K, HEAVY, false, 9.84361e-03},     {TENSOR_Q4_K, HEAVY, true, 8.99523e-03},
    {TENSOR_Q5_K, NORMAL, false, 1.25435e-03},    {TENSOR_Q5_K, NORMAL, true, 1.14297e-03},
    {TENSOR_Q5_K, HEAVY, false, 2.51602e-03},     {TENSOR_Q5_K, HEAVY, true, 2.33254e-03},
    {TENSOR_Q6_K, NORMAL, false, 3.07290e-04},    {TENSOR_Q6_K, NORMAL, true, 2.76708e-04},
    {TENSOR_Q6_K, HEAVY, false, 7.15545e-04},     {TENSOR_Q6_K, HEAVY, true, 6.50109e-04},
    {TENSOR_Q2_K, NORMAL, false, 8.64342e-02},    {TENSOR_Q2_K, NORMAL, true, 6.44631e-02},
    {TENSOR_Q2_K, HEAVY, false, 1.43749e-01},     {TENSOR_Q2_K, HEAVY, true, 8.96338e-02},
    {TENSOR_Q3_K, NORMAL, false, 2.24792e-02},    {TENSOR_Q3_K, NORMAL, true, 1.95657e-02},
    {TENSOR_Q3_K, HEAVY, false, 4.00415e-02},     {TENSOR_Q3_K, HEAVY, true, 3.54449e-02},
    {TENSOR_IQ4_XS, NORMAL, false, 5.75937e-03},  {TENSOR_IQ4_XS, NORMAL, true, 5.32467e-03},
    {TENSOR_IQ4_XS, HEAVY, false, 1.14172e-02},   {TENSOR_IQ4_XS, HEAVY, true, 1.04907e-02},
    {TENSOR_MXFP4, NORMAL, false, 1.31100e-02},   {TENSOR_MXFP4, NORMAL, true, 1.30933e-02},
    {TENSOR_MXFP4, HEAVY, false, 2.17016e-02},    {TENSOR_MXFP4, HEAVY, true, 2.17975e-02},
    {TENSOR_TQ1_0, NORMAL, false, 6.36617e-01},   {TENSOR_TQ1_0, NORMAL, true, 6.31902e-01},
    {TENSOR_TQ1_0, HEAVY, false, 5.90568e-01},    {TENSOR_TQ1_0, HEAVY, true, 5.75828e-01},
    {TENSOR_TQ2_0, NORMAL, false, 6.36617e-01},   {TENSOR_TQ2_0, NORMAL, true, 6.31902e-01},
    {TENSOR_TQ2_0, HEAVY, false, 5.90568e-01},    {TENSOR_TQ2_0, HEAVY, true, 5.75828e-01},
    {TENSOR_IQ3_S, NORMAL, false, 2.82403e-02},   {TENSOR_IQ3_S, NORMAL, true, 1.61376e-02},
    {TENSOR_IQ3_S, HEAVY, false, 5.21489e-02},    {TENSOR_IQ3_S, HEAVY, true, 2.95612e-02},
    {TENSOR_IQ3_XXS, NORMAL, false, 4.52746e-02}, {TENSOR_IQ3_XXS, NORMAL, true, 2.69848e-02},
    {TENSOR_IQ3_XXS, HEAVY, false, 9.11424e-02},  {TENSOR_IQ3_XXS, HEAVY, true, 4.31796e-02},
    {TENSOR_IQ2_S, NORMAL, true, 5.52895e-02},    {TENSOR_IQ2_S, HEAVY, true, 1.27182e-01},
    {TENSOR_IQ2_XS, NORMAL, true, 7.60433e-02},   {TENSOR_IQ2_XS, HEAVY, true, 1.42387e-01},
    {TENSOR_IQ2_XXS, NORMAL, true, 9.99610e-02},  {TENSOR_IQ2_XXS, HEAVY, true, 2.08583e-01},
    {TENSOR_IQ1_M, NORMAL, true, 1.51695e-01},    {TENSOR_IQ1_M, HEAVY, true, 1.86079e-01},
    {TENSOR_IQ1_S, NORMAL, true, 1.78959e-01},    {TENSOR_IQ1_S, HEAVY, true, 2.77869e-01},
    {TENSOR_Q1_0, NORMAL, false, 3.54725e-01},    {TENSOR_Q1_0, NORMAL, true, 3.54987e-01},
    {TENSOR_Q1_0, HEAVY, false, 6.57368e-01},     {TENSOR_Q1_0, HEAVY, true, 6.59381e-01},
    {TENSOR_Q2_0, NORMAL, false, 5.00700e-01},    {TENSOR_Q2_0, NORMAL, true, 4.96892e-01},
    {TENSOR_Q2_0, HEAVY, false, 4.27794e-01},     {TENSOR_Q2_0, HEAVY, true, 4.23784e-01},
};

TEST(quantizers_err_no_more_than_the_reference_implementation_on_the_same_rows) {
    static float x[N], importance[N], back[N];
    for (size_t i = 0; i < sizeof reference / sizeof *reference; i++) {
        for (uint64_t j = 0; j < N; j++) x[j] = number(reference[i].rows, j), importance[j] = importance_of(j);
        const float *const w = reference[i].weighted ? importance : NULL;
        round_trip(reference[i].type, x, w, back, N);
        if (reference[i].type == TENSOR_IQ1_S || reference[i].type == TENSOR_IQ1_M) fit_factor(x, back, w, N);
        const double error = relative_error(x, back, w, N);
        check_note("%s, %s rows, %s: %.5e, the reference %.5e", tensor_type_info(reference[i].type)->name,
                   reference[i].rows == HEAVY ? "heavy-tailed" : "normal", w ? "weighted" : "all alike", error,
                   reference[i].error);
        CHECK(error <= reference[i].error * (1 + 1e-5)); // the printed digits
    }
}

TEST(where_errors_have_weights_the_weighted_error_is_smaller_than_without) {
    static float x[N], importance[N], back[N];
    for (uint64_t j = 0; j < N; j++) x[j] = number(NORMAL, j), importance[j] = j % 16 == 3 ? 100 : 1;
    for (int i = 0; i < N_WRITTEN; i++) {
        round_trip(written[i], x, NULL, back, N);
        const double without = relative_error(x, back, importance, N);
        round_trip(written[i], x, importance, back, N);
        check_note("%s", tensor_type_info(written[i])->name);
        CHECK(relative_error(x, back, importance, N) < (coarseness(written[i]) > 0 ? 0.999 : 0.8) * without);
    }
}

TEST(ternary_weights_come_back_as_they_were) {
    static const enum tensor_type types[] = {TENSOR_TQ1_0, TENSOR_TQ2_0, TENSOR_Q2_0};
    static float x[N], back[N];
    for (uint64_t j = 0; j < N; j++) // another scale, representable in F16, for each block
        x[j] = (float)((int)(uniform(j, 14) * 3) - 1) * (0x1p-7f + (float)(j / K) * 0x1p-16f);
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++) {
        round_trip(types[i], x, NULL, back, N);
        check_note("%s", tensor_type_info(types[i])->name);
        for (size_t j = 0; j < N; j++)
            if (!CHECK(back[j] == x[j])) break;
    }
}

TEST(weights_of_the_numbers_that_a_type_has_come_back_as_they_were) {
    static const struct {
        enum tensor_type type;
        int least, step, most;
    } rows[] = {{TENSOR_Q1_0, -1, 2, 1}, {TENSOR_Q2_0, -1, 1, 2}};
    static float x[N], back[N];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int n_numbers = (rows[i].most - rows[i].least) / rows[i].step + 1;
        for (uint64_t j = 0; j < N; j++)
            x[j] = (float)(rows[i].least + (int)(uniform(j, 14) * n_numbers) * rows[i].step) *
                   (0x1p-7f + (float)(j / K) * 0x1p-16f);
        round_trip(rows[i].type, x, NULL, back, N);
        check_note("%s", tensor_type_info(rows[i].type)->name);
        for (size_t j = 0; j < N; j++)
            if (!CHECK(back[j] == x[j])) break;
    }
}

TEST(importance_of_zero_throughout_is_importance_alike) {
    static float x[K], zeros[K], ones[K], a[K], b[K];
    for (uint64_t j = 0; j < K; j++) x[j] = number(HEAVY, j), ones[j] = 1;
    for (int i = 0; i < N_WRITTEN; i++) {
        round_trip(written[i], x, zeros, a, K);
        round_trip(written[i], x, ones, b, K);
        check_note("%s", tensor_type_info(written[i])->name);
        CHECK_MEM(a, b, sizeof a);
    }
}

TEST(importance_counts_by_its_ratios_however_large_or_small_it_is) {
    static const float units[] = {0x1p-120f, 0x1p-20f, 0x1p120f};
    static float x[K], alike[K], scaled[K], a[K], b[K];
    for (uint64_t j = 0; j < K; j++) x[j] = number(HEAVY, j), alike[j] = importance_of(j);
    for (int i = 0; i < N_WRITTEN; i++)
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            for (size_t j = 0; j < K; j++) scaled[j] = alike[j] * units[u];
            round_trip(written[i], x, alike, a, K);
            round_trip(written[i], x, scaled, b, K);
            check_note("%s, times %g", tensor_type_info(written[i])->name, (double)units[u]);
            CHECK_MEM(a, b, sizeof a);
        }
}

// But for MXFP4, whose scales reach as far as floats do: who quantizes sees by the numbers that come back that the type could not hold them: they must not become zeros.
TEST(a_number_too_large_for_every_type_comes_back_as_no_number) {
    static const float large[] = {1e10f, 0x1p36f, 0x1p37f, 1e18f, 2e19f, 3.4e38f};
    float x[K], importance[K], back[K];
    for (int i = 0; i < 4 * N_WRITTEN; i++)
        for (size_t j = 0; written[i / 4] != TENSOR_MXFP4 && j < sizeof large / sizeof *large; j++) {
            bool all_finite = true;
            for (size_t n = 0; n < K; n++) x[n] = number(NORMAL, n), importance[n] = importance_of(n);
            x[77] = i % 2 ? large[j] : -large[j];
            round_trip(written[i / 4], x, i / 2 % 2 ? importance : NULL, back, K);
            for (size_t n = 0; n < K; n++) all_finite = all_finite && isfinite(back[n]);
            check_note("%s, %s: %g", tensor_type_info(written[i / 4])->name, i / 2 % 2 ? "weighted" : "all alike",
                       (double)x[77]);
            CHECK(!all_finite);
        }
}

// Rows that leave a search without a range, a denominator or a scale: even and odd numbers, and number 5.
TEST(degenerate_rows_come_back_finite_and_near) {
    static const struct {
        const char *why;
        float even, odd, fifth;
        bool zero_parts;
        double
            error; // the largest allowed, as a part of the largest number: Q4_0 reaches 7/8 of a largest number's opposite
    } rows[] = {
        {"all zeros", 0, 0, 0, false, 0},
        {"a constant", 0.3f, 0.3f, 0.3f, false, 0.13},
        {"a negative constant", -0.3f, -0.3f, -0.3f, false, 0.13},
        {"a single number", 0, 0, 1, false, 0.13},
        {"two numbers in turn", 1, -1, 1, false, 0.13},
        {"one huge number among small ones", 0.01f, -0.02f, 1000, false, 0.13},
        {"parts of zeros", 1, -0.5f, 2, true, 0.13},
        {"large numbers", 3e4f, -2e4f, 6e4f, false, 0.13},
        {"too small for a scale in F16", 1e-9f, -1e-9f, 2e-9f, false, 1.5},
        {"too small to invert the scale", 1e-40f, -2e-40f, 1e-40f, false, 1},
    };
    float x[K], importance[K], back[K];
    for (int i = 0; i < 2 * N_WRITTEN; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            double largest = 0, worst = 0;
            for (size_t n = 0; n < K; n++) {
                x[n] = rows[j].zero_parts && n / 32 % 3 == 1 ? 0
                       : n == 5                              ? rows[j].fifth
                       : n % 2                               ? rows[j].odd
                                                             : rows[j].even;
                importance[n] = importance_of(n);
                largest = fmax(largest, fabs((double)x[n]));
            }
            round_trip(written[i / 2], x, i % 2 ? importance : NULL, back, K);
            for (size_t n = 0; n < K; n++)
                worst = fmax(worst, isfinite(back[n]) ? fabs((double)back[n] - (double)x[n]) : INFINITY);
            check_note("%s, %s: %s", tensor_type_info(written[i / 2])->name, i % 2 ? "weighted" : "all alike",
                       rows[j].why);
            CHECK(worst <= fmax(rows[j].error, rows[j].error > 0 ? coarseness(written[i / 2]) : 0) * largest);
        }
}

TEST(the_same_row_gives_the_same_bytes_anywhere_and_blocks_do_not_mix) {
    float x[2 * K];
    uint8_t whole[8 * K], parts[8 * K + 1];
    for (uint64_t j = 0; j < 2 * K; j++) x[j] = number(HEAVY, j);
    for (int i = 0; i < N_WRITTEN; i++) {
        const struct tensor_type_info *const t = tensor_type_info(written[i]);
        size_t half;
        CHECK(tensor_row_bytes(t->type, K, &half));
        t->quantize_row(x, NULL, whole, 2 * K);
        t->quantize_row(x, NULL, parts + 1, K); // at an odd address
        t->quantize_row(x + K, NULL, parts + 1 + half, K);
        check_note("%s", t->name);
        CHECK_MEM(parts + 1, whole, 2 * half);
    }
}
