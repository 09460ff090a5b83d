// tests/kernels/top_k_test.c - the k largest of a row, and log-sum-exp, for every CPU set.
#include "base/hash.h"
#include "base/pool.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 5000 };
static float row[MOST];
static int32_t order[MOST], idx[MOST + 1], scratch[2 * MOST];

static float value(int32_t i) { return isnan(row[i]) ? -INFINITY : row[i]; }
static int compare(const void *pa, const void *pb) {
    const int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;
    if (value(a) != value(b)) return value(a) > value(b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

// The rows: what a bound guessed from a sample could get wrong.
static float noise(size_t i, size_t n) { return (void)n, (float)(hash_u64(i, 3) >> 40); }
static float rising(size_t i, size_t n) { return (void)n, (float)i; }
static float falling(size_t i, size_t n) { return (float)(n - i); }
static float equal(size_t i, size_t n) { return (void)i, (void)n, 2.5f; }
static float few_values(size_t i, size_t n) { return (void)n, (float)(hash_u64(i, 4) % 5); }
static float peak_between_samples(size_t i, size_t n) { return (void)n, i == 7 ? 1e30f : i % 4 == 0 ? 0 : -1; }
static float high_at_samples(size_t i, size_t n) { return i % (n / 512 ? n / 512 : 1) == 0 ? 100 : (float)(i % 50); }
static float mostly_nan(size_t i, size_t n) { return (void)n, i % 100 == 3 ? (float)i : NAN; }
static float all_nan(size_t i, size_t n) { return (void)i, (void)n, NAN; }
static float infinities(size_t i, size_t n) {
    return (void)n, i % 3 == 0 ? -INFINITY : i % 3 == 1 ? (float)i : INFINITY;
}
static float zeros(size_t i, size_t n) { return (void)n, i % 2 ? -0.0f : 0; }

static const struct {
    const char *why;
    float (*at)(size_t, size_t);
} rows[] = {{"noise", noise},
            {"rising", rising},
            {"falling", falling},
            {"all equal", equal},
            {"few values: ties", few_values},
            {"a peak that no sample sees", peak_between_samples},
            {"samples higher than the rest", high_at_samples},
            {"mostly NaN", mostly_nan},
            {"all NaN", all_nan},
            {"infinities", infinities},
            {"zeros of both signs", zeros}};

static void check_row(const struct kernel_set *set, size_t n, size_t k) {
    for (size_t i = 0; i < n; i++) order[i] = (int32_t)i;
    qsort(order, n, sizeof *order, compare);
    const size_t want = k < n ? k : n;
    idx[want] = -77;
    CHECK_INT(row_top_k(&set->row, row, n, k, idx, scratch), want);
    CHECK_MEM(idx, order, want * sizeof *idx);
    CHECK_INT(idx[want], -77);
}

TEST(top_k_is_the_head_of_the_sorted_row) {
    static const size_t sizes[] = {0, 1, 2, 17, 2047, 2048, 2049, 5000},
                        counts[] = {0, 1, 2, 40, 255, 256, 624, 5000};
    const fp_mode mode = fp_mode_enter();
    for (enum cpu_set s = 0; s < CPU_N_SETS; s++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows && cpu_set_available(s); r++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                for (size_t j = 0; j < sizes[i]; j++) row[j] = rows[r].at(j, sizes[i]);
                for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
                    check_note("set %s: %s, n %zu, k %zu", cpu_set_name(s), rows[r].why, sizes[i], counts[j]);
                    check_row(kernel_set_get(s), sizes[i], counts[j]);
                }
            }
    fp_mode_leave(mode);
}

TEST(log_sum_exp_is_that_of_the_exact_sum_and_keeps_its_limits) {
    const struct rowmath *const rm = &kernel_set_get(cpu_set_detect(CPU_N_SETS))->row;
    static const float limits[] = {-INFINITY, -INFINITY, 3};
    const fp_mode mode = fp_mode_enter();
    double sum = 0;
    for (size_t i = 0; i < MOST; i++) row[i] = (float)(hash_u64(i, 5) >> 40) * 0x1p-20f + 300;
    for (size_t i = 0; i < MOST; i++) sum += exp((double)row[i] - 300);
    // 16 partial sums of 313 terms, each term exp within 1 ulp of a difference that is exact to half an ulp of 16.
    const double bound = (313 + 4 + 2) * 0x1p-24 + 0x1p-20;
    CHECK(fabs(row_log_sum_exp(rm, row, MOST) - (300 + log(sum))) < bound);
    CHECK(row_log_sum_exp(rm, row, 0) == -INFINITY);
    CHECK(row_log_sum_exp(rm, limits, 2) == -INFINITY);
    CHECK(row_log_sum_exp(rm, limits, 3) == 3);
    row[17] = NAN;
    CHECK(isnan(row_log_sum_exp(rm, row, MOST)));
    fp_mode_leave(mode);
}
