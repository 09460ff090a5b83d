// tests/kernels/scalar_test.c - exp, log, tanh, erf, sine and cosine against the C library in a higher precision, with the bounds of
// docs/arithmetic.md. Every 257th float; all of them with RUNNEL_TEST_FULL=1, where no sanitizer slows it down.
#include "base/hash.h"
#include "kernels/rowmath.h"
#include "tensor/half.h"
#include "tests/check.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

// The distance of got from want in units of want's last place as a float.
static double ulps(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if ((double)got == want) return 0;
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

// What a float can hold of an exact value: below FLT_MIN 0, above FLT_MAX infinity.
static double as_float_range(double x) {
    if (fabs(x) < (double)FLT_MIN) return 0;
    return fabs(x) > (double)FLT_MAX ? copysign(INFINITY, x) : x;
}

static double exact_log(double x) { return fabs(x) < (double)FLT_MIN ? -INFINITY : log(x); } // denormals count as 0

static uint64_t step_between_floats(void) {
#ifdef TESTS_SANITIZED
    return 257;
#else
    return getenv("RUNNEL_TEST_FULL") ? 1 : 257;
#endif
}

static void check_all_floats(const char *name, float (*f)(float), double (*exact)(double), double bound) {
    const uint64_t step = step_between_floats();
    double worst = 0;
    float at = 0;
    for (uint64_t u = 0; u <= UINT32_MAX; u += step) {
        const float x = f32_from_bits((uint32_t)u);
        const double error = ulps(f(x), as_float_range(exact((double)x)));
        if (!(error <= worst)) worst = error, at = x;
    }
    check_note("%s: %.4f ulp at %a, bound %.2f", name, worst, (double)at, bound);
    CHECK(worst <= bound);
}

TEST(exp_of_every_float_is_within_its_bound) { check_all_floats("exp_f32", exp_f32, exp, 1.0); }
TEST(log_of_every_float_is_within_its_bound) { check_all_floats("log_f32", log_f32, exact_log, 1.0); }
TEST(tanh_of_every_float_is_within_its_bound) { check_all_floats("tanh_f32", tanh_f32, tanh, 1.5); }
TEST(erf_of_every_float_is_within_its_bound) { check_all_floats("erf_f32", erf_f32, erf, 1.5); }

TEST(scalar_functions_are_exact_at_their_fixed_points_and_limits) {
    static const struct {
        const char *why;
        float (*f)(float);
        float x, y;
    } rows[] = {
        {"a maximum's own probability is 1", exp_f32, 0, 1},
        {"so is that of minus zero", exp_f32, -0.0f, 1},
        {"exp(-inf)", exp_f32, -INFINITY, 0},
        {"exp(inf)", exp_f32, INFINITY, INFINITY},
        {"first float whose exp overflows", exp_f32, 0x1.62e43p+6f, INFINITY},
        {"first float whose exp is below FLT_MIN", exp_f32, -0x1.5d58ap+6f, 0},
        {"log(1)", log_f32, 1, 0},
        {"log(0)", log_f32, 0, -INFINITY},
        {"log(-0)", log_f32, -0.0f, -INFINITY},
        {"log of a denormal", log_f32, 1e-40f, -INFINITY},
        {"log(inf)", log_f32, INFINITY, INFINITY},
        {"log(-1)", log_f32, -1, NAN},
        {"tanh(0)", tanh_f32, 0, 0},
        {"tanh saturates", tanh_f32, 20, 1},
        {"on both sides", tanh_f32, -INFINITY, -1},
        {"erf(0)", erf_f32, 0, 0},
        {"erf saturates", erf_f32, 4, 1},
        {"on both sides", erf_f32, -INFINITY, -1},
        {"exp(NaN)", exp_f32, NAN, NAN},
        {"log(NaN)", log_f32, NAN, NAN},
        {"tanh(NaN)", tanh_f32, NAN, NAN},
        {"erf(NaN)", erf_f32, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const float y = rows[i].f(rows[i].x);
        check_note("%s: %a", rows[i].why, (double)y);
        CHECK(y == rows[i].y || (isnan(y) && isnan(rows[i].y)));
    }
    CHECK(isfinite(exp_f32(0x1.62e42ep+6f)));
    CHECK(exp_f32(-0x1.5d589ep+6f) >= FLT_MIN);
}

// Uniform in [-1, 1).
static double uniform(uint64_t i, uint64_t seed) { return (double)(hash_u64(i, seed) >> 11) * 0x1p-52 - 1; }

static double relative_error(double got, long double want) {
    return want == 0 ? fabs(got) : (double)fabsl(((long double)got - want) / want);
}

static double worst_exp(double x, double worst) { return fmax(worst, relative_error(exp_f64(x), expl(x))); }
static double worst_log(double x, double worst) { return fmax(worst, relative_error(log_f64(x), logl(x))); }
static double worst_sincos(double x, double worst) {
    double s, c;
    sincos_f64(x, &s, &c);
    return fmax(worst, fmax(relative_error(s, sinl(x)), relative_error(c, cosl(x))));
}

TEST(double_functions_have_a_relative_error_below_2_to_minus_50) {
    double e = 0, l = 0, sc = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        e = worst_exp(708 * uniform(i, 1), worst_exp(uniform(i, 2), e));
        l = worst_log(exp_f64(700 * uniform(i, 3)), worst_log(1 + uniform(i, 4) * 0x1p-3, l));
        l = worst_log(1 + uniform(i, 5) * 0x1p-30, l);
        sc = worst_sincos(0x1p30 * uniform(i, 6), worst_sincos(4 * uniform(i, 7), sc));
        // Beside multiples of pi/2, where one of the two is almost zero.
        const double multiple = floor(683000000 * uniform(i, 8)) * 0x1.921fb54442d18p+0;
        sc = worst_sincos(multiple, sc);
    }
    check_note("exp %g log %g sincos %g", e, l, sc);
    CHECK(e < 0x1p-50 && l < 0x1p-50 && sc < 0x1p-50);
}

TEST(double_functions_answer_at_the_edges) {
    double s, c;
    CHECK(exp_f64(0) == 1 && exp_f64(-INFINITY) == 0 && exp_f64(INFINITY) == INFINITY && exp_f64(710) == INFINITY);
    CHECK(exp_f64(-709) == 0 && isnan(exp_f64(NAN)) && isfinite(exp_f64(709.78)));
    CHECK(log_f64(1) == 0 && log_f64(0) == -INFINITY && log_f64(INFINITY) == INFINITY);
    CHECK(isnan(log_f64(-1)) && isnan(log_f64(NAN)) && log_f64(5e-324) == -INFINITY);
    sincos_f64(0, &s, &c);
    CHECK(s == 0 && c == 1);
}
