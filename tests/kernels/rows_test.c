// tests/kernels/rows_test.c - what the reference does to rows, against the same in double: norms, activation functions, softmax, rotation.
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tensor/half.h"
#include "tests/check.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const double u = 0x1p-24; // a rounding
static double gamma_n(double n) { return n * u / (1 - n * u); }
static float noise(uint64_t i, uint64_t seed) { return (float)(hash_u64(i, seed) >> 40) * 0x1p-23f - 1; }

// Activation functions ---------------------------------------------------------------------------------------------------

static double silu(double x) { return x / (1 + exp(-x)); }
static double gelu(double x) { return 0.5 * x * erfc(-x / sqrt(2)); }
static double gelu_tanh(double x) {
    return silu(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)) / (2 * sqrt(2 / M_PI) * (1 + 0.044715 * x * x));
}
static double gelu_quick(double x) { return x / (1 + exp(-1.702 * x)); }
static double relu(double x) { return x < 0 ? 0 : x; }
static double relu_squared(double x) { return relu(x) * relu(x); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }

static const struct {
    const char *name;
    double (*exact)(double);
    // Bounds in units of 2^-24, of |x| and of the result; docs/arithmetic.md section 5.
    double of_x, of_y;
} functions[ACT_N_FNS] = {
    [ACT_FN_SILU] = {"silu", silu, 2.5, 0},
    [ACT_FN_GELU] = {"gelu", gelu, 2.5, 0},
    [ACT_FN_GELU_TANH] = {"gelu_tanh", gelu_tanh, 2.5, 0},
    [ACT_FN_GELU_QUICK] = {"gelu_quick", gelu_quick, 2.5, 0},
    [ACT_FN_RELU] = {"relu", relu, 0, 0},
    [ACT_FN_RELU_SQUARED] = {"relu_squared", relu_squared, 0, 1},
    [ACT_FN_SIGMOID] = {"sigmoid", sigmoid, 0, 3},
    [ACT_FN_SOFTPLUS] = {"softplus", softplus, 0, 3},
};

TEST(activation_functions_are_within_their_bounds_of_the_exact_value) {
    const fp_mode mode = fp_mode_enter();
    for (int f = 0; f < ACT_N_FNS; f++)
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
            const float x = f32_from_bits((uint32_t)bits);
            if (!(fabsf(x) > 0x1p-60f && fabsf(x) < 0x1p60f)) continue; // inside no result leaves the range of floats
            float y;
            kernel_set_get(CPU_REF)->activate[f](&x, 1, &y);
            const double exact = functions[f].exact((double)x), error = fabs((double)y - exact);
            const double bound = u * (functions[f].of_x * fabs((double)x) + functions[f].of_y * fabs(exact));
            check_note("%s(%a): %a, exact %a", functions[f].name, (double)x, (double)y, exact);
            if (!CHECK(error <= bound || (fabs(exact) < (double)FLT_MIN && y == 0))) break;
        }
    fp_mode_leave(mode);
}

TEST(activation_functions_answer_at_their_limits) {
    static const struct {
        const char *why;
        enum act_fn f;
        float x, y;
    } rows[] = {
        {"far below, nothing passes", ACT_FN_SILU, -200, 0},
        {"far above, all does", ACT_FN_SILU, 200, 200},
        {"infinity passes", ACT_FN_GELU, INFINITY, INFINITY},
        {"erf is -1 here", ACT_FN_GELU, -6, 0},
        {"tanh is -1 here", ACT_FN_GELU_TANH, -20, 0},
        {"a cube beyond the range of floats", ACT_FN_GELU_TANH, 1e30f, 1e30f},
        {"minus zero is not above 0", ACT_FN_RELU, -0.0f, 0},
        {"a denormal counts as 0", ACT_FN_RELU, 1e-40f, 0},
        {"the smallest number that is not", ACT_FN_RELU, FLT_MIN, FLT_MIN},
        {"minus infinity", ACT_FN_RELU, -INFINITY, 0},
        {"infinity", ACT_FN_RELU_SQUARED, INFINITY, INFINITY},
        {"0", ACT_FN_SIGMOID, 0, 0.5f},
        {"minus infinity", ACT_FN_SIGMOID, -INFINITY, 0},
        {"infinity", ACT_FN_SIGMOID, INFINITY, 1},
        {"minus infinity", ACT_FN_SOFTPLUS, -INFINITY, 0},
        {"infinity", ACT_FN_SOFTPLUS, INFINITY, INFINITY},
        {"nothing left to add", ACT_FN_SOFTPLUS, 20, 20},
    };
    const fp_mode mode = fp_mode_enter();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float y;
        kernel_set_get(CPU_REF)->activate[rows[i].f](&rows[i].x, 1, &y);
        check_note("%s of %g, %s: %g", functions[rows[i].f].name, (double)rows[i].x, rows[i].why, (double)y);
        CHECK(y == rows[i].y && (rows[i].f != ACT_FN_RELU || !signbit(y)));
    }
    for (int f = 0; f < ACT_N_FNS; f++) {
        const float nan = NAN, one = 1;
        float y[2];
        kernel_set_get(CPU_REF)->activate[f](&nan, 1, &y[0]);
        kernel_set_get(CPU_REF)->activate_mul[f](&one, &nan, 1, &y[1]);
        check_note("%s", functions[f].name);
        CHECK(isnan(y[0]) && isnan(y[1]));
    }
    fp_mode_leave(mode);
}

TEST(a_gate_times_another_row_is_the_function_and_then_the_product) {
    const fp_mode mode = fp_mode_enter();
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    float gate[50], up[50], alone[50], both[50];
    for (size_t i = 0; i < 50; i++) gate[i] = 6 * noise(i, 1), up[i] = 6 * noise(i, 2);
    for (int f = 0; f < ACT_N_FNS; f++) {
        ref->activate[f](gate, 50, alone);
        ref->mul(alone, up, 50);
        ref->activate_mul[f](gate, up, 50, both);
        CHECK_MEM(both, alone, sizeof both);
    }
    fp_mode_leave(mode);
}

TEST(swiglu_oai_holds_its_inputs_to_the_limit_and_is_within_its_bound) {
    static const float edges[] = {-1e30f, -8,         -7.0000005f, -7,         -6.9999995f, -1,   0,
                                  1,      6.9999995f, 7,           7.0000005f, 8,           1e30f};
    enum { N = sizeof edges / sizeof *edges };
    const fp_mode mode = fp_mode_enter();
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            float y;
            kernel_set_get(CPU_REF)->swiglu_oai(&edges[i], &edges[j], 1, 1.702f, 7, &y);
            const double g = fmin((double)edges[i], 7), up = fmax(-7, fmin((double)edges[j], 7));
            const double gated = g / (1 + exp(-(double)1.702f * g)), exact = (up + 1) * gated;
            check_note("gate %g up %g: %g, exact %g", (double)edges[i], (double)edges[j], (double)y, exact);
            // The bound of silu times a rounded factor; two more roundings.
            CHECK(fabs((double)y - exact) <= (2.5 + 2) * u * fabs(up + 1) * fabs(g));
            CHECK(g >= -8 || y == 0);
        }
    float y, limit = 7, nan = NAN;
    kernel_set_get(CPU_REF)->swiglu_oai(&nan, &limit, 1, 1.702f, 7, &y);
    CHECK(isnan(y));
    kernel_set_get(CPU_REF)->swiglu_oai(&limit, &nan, 1, 1.702f, 7, &y);
    CHECK(isnan(y));
    fp_mode_leave(mode);
}

// Its two sides in double; what is not a number stays so.
TEST(xielu_bends_on_both_sides_of_zero) {
    const struct xielu p = {0.8f, 1.25f, 0.5f, -1e-6f};
    for (float x = -20; x <= 20; x += 0.0625f) {
        float y;
        kernel_set_get(CPU_REF)->xielu(&x, 1, p, &y);
        const double v = (double)x,
                     want = x > 0 ? (double)p.alpha_p * v * v + (double)p.beta * v
                                  : (expm1(fmin(v, (double)p.eps)) - v) * (double)p.alpha_n + (double)p.beta * v;
        check_note("%g: %g for %g", v, (double)y, want);
        CHECK(fabs((double)y - want) <= 3e-7 * (1 + fabs(want)));
    }
    float nan = NAN;
    kernel_set_get(CPU_REF)->xielu(&nan, 1, p, &nan);
    CHECK(isnan(nan));
}

TEST(softcap_bends_towards_the_cap_and_never_passes_it) {
    const fp_mode mode = fp_mode_enter();
    for (float x = -500; x <= 500; x += 0.37f) {
        float y = x;
        kernel_set_get(CPU_REF)->softcap(&y, 30, 1);
        const double exact = 30 * tanh((double)x / 30);
        check_note("%g: %g, exact %g", (double)x, (double)y, exact);
        CHECK(fabs((double)y - exact) <= 6 * u * fabs(exact) && fabsf(y) <= 30);
    }
    fp_mode_leave(mode);
}

// Norms ------------------------------------------------------------------------------------------------------------------

enum { N = 300 };

// How far a layer norm in float may be from the exact one. Sums are chains of N / 16 steps and the 4 of the tree; the mean errs by
// e_mean, a difference d by e_d = e_mean + u |d|, and so the deviation's square, relatively, by 2 e_d / sigma + (e_d / sigma)^2.
static double layer_norm_bound(double d, double w, double bias, double sigma, double mean_magnitude, double widest) {
    const double chain = gamma_n(N / 16.0 + 6), e_mean = chain * mean_magnitude, e_d = e_mean + u * widest;
    const double relative = 2 * e_d / sigma + e_d * e_d / (sigma * sigma) + chain;
    return fabs(w) * ((e_mean + u * fabs(d)) / sigma + fabs(d) / sigma * (relative / 2 + 4 * u)) * 1.01 +
           2 * u * (fabs(d / sigma * w) + fabs(bias));
}

TEST(layer_norm_is_the_exact_one_within_the_derived_bound_also_far_from_zero) {
    static const float offsets[] = {0, 1, -100, 10000};
    const fp_mode mode = fp_mode_enter();
    for (size_t k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        float x[N], w[N], bias[N], y[N];
        double sum = 0, magnitude = 0, squares = 0, widest = 0;
        for (size_t i = 0; i < N; i++) x[i] = noise(i, 3) + offsets[k], w[i] = noise(i, 4), bias[i] = noise(i, 5);
        for (size_t i = 0; i < N; i++) sum += (double)x[i], magnitude += fabs((double)x[i]) / N;
        const double mean = sum / N;
        for (size_t i = 0; i < N; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
            widest = fmax(widest, fabs((double)x[i] - mean));
        }
        const double sigma = sqrt(squares / N + (double)1e-5f);
        kernel_set_get(CPU_REF)->layer_norm(x, w, bias, N, 1e-5f, y);
        for (size_t i = 0; i < N; i++) {
            const double d = (double)x[i] - mean, exact = d / sigma * (double)w[i] + (double)bias[i];
            check_note("offset %g element %zu: %g, exact %g", (double)offsets[k], i, (double)y[i], exact);
            CHECK(fabs((double)y[i] - exact) <=
                  layer_norm_bound(d, (double)w[i], (double)bias[i], sigma, magnitude, widest));
        }
    }
    fp_mode_leave(mode);
}

TEST(norms_without_weights_are_norms_with_weights_of_one) {
    const fp_mode mode = fp_mode_enter();
    const struct kernel_set *const ref = kernel_set_get(CPU_REF);
    float x[N], ones[N], zeros[N] = {0}, y[N], want[N];
    for (size_t i = 0; i < N; i++) x[i] = noise(i, 6), ones[i] = 1;
    ref->rms_norm(x, NULL, N, 1e-6f, y);
    ref->rms_norm(x, ones, N, 1e-6f, want);
    CHECK_MEM(y, want, sizeof y);
    ref->layer_norm(x, NULL, NULL, N, 1e-6f, y);
    ref->layer_norm(x, ones, zeros, N, 1e-6f, want);
    CHECK_MEM(y, want, sizeof y);
    fp_mode_leave(mode);
}

// Softmax, rotation ------------------------------------------------------------------------------------------------------

TEST(softmax_is_the_exact_one_within_the_derived_bound) {
    const fp_mode mode = fp_mode_enter();
    float x[N], y[N];
    double sum = 0;
    for (size_t i = 0; i < N; i++) x[i] = y[i] = i == 7 ? -INFINITY : 20 * noise(i, 7);
    const double m = (double)kernel_set_get(CPU_REF)->row.max(x, N);
    for (size_t i = 0; i < N; i++) sum += exp((double)x[i] - m);
    kernel_set_get(CPU_REF)->softmax(y, N);
    for (size_t i = 0; i < N; i++) {
        const double exact = exp((double)x[i] - m) / sum;
        check_note("element %zu: %g, exact %g", i, (double)y[i], exact);
        // x - m below 40 in magnitude errs by 20 u at most, exp by 2 u, the sum by its terms' errors and its chain.
        CHECK(fabs((double)y[i] - exact) <= (2 * 22 * u + gamma_n(N / 16.0 + 6)) * 1.01 * exact);
    }
    CHECK(y[7] == 0);
    fp_mode_leave(mode);
}

TEST(softmax_of_one_number_is_1_and_nan_reaches_every_number) {
    const fp_mode mode = fp_mode_enter();
    float one = -88, row[3] = {1, NAN, 2};
    kernel_set_get(CPU_REF)->softmax(&one, 1);
    CHECK(one == 1);
    kernel_set_get(CPU_REF)->softmax(row, 3);
    CHECK(isnan(row[0]) && isnan(row[1]) && isnan(row[2]));
    fp_mode_leave(mode);
}

TEST(rotation_by_halves_is_rotation_of_neighbours_with_the_pairs_laid_out_otherwise) {
    enum { HEADS = 3, STRIDE = 24, ROT = 18 };
    float halves[HEADS * STRIDE], neighbours[HEADS * STRIDE], cos_sin[ROT];
    for (size_t i = 0; i < HEADS * STRIDE; i++) halves[i] = neighbours[i] = noise(i, 8);
    for (size_t i = 0; i < ROT; i++) cos_sin[i] = noise(i, 9);
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < ROT; i++) neighbours[h * STRIDE + i] = halves[h * STRIDE + i / 2 + i % 2 * (ROT / 2)];
    kernel_set_get(CPU_REF)->rope(neighbours, HEADS, STRIDE, ROT, cos_sin);
    kernel_set_get(CPU_REF)->rope_halves(halves, HEADS, STRIDE, ROT, cos_sin);
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t i = 0; i < ROT; i++)
            CHECK(neighbours[h * STRIDE + i] == halves[h * STRIDE + i / 2 + i % 2 * (ROT / 2)]);
        CHECK_MEM(halves + h * STRIDE + ROT, neighbours + h * STRIDE + ROT, (STRIDE - ROT) * sizeof(float));
    }
}
