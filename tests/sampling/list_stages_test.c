// tests/sampling/list_stages_test.c - cuts that have no published rows, against their formulas in double; XTC's share of positions.
#include "base/philox.h"
#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 };

static uint32_t counter;
static double uniform(void) { return philox_uniform(41, 0, counter++, PHILOX_TEST); }
static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }

static struct sampling_params only(const char *samplers) {
    struct sampling_params p;
    rn_error err = {0};
    sampling_defaults(&p);
    CHECK_OK(sampling_parse_sequence(samplers, &p.sequence, &err), &err);
    return p;
}

static size_t n_left(const struct sampling_params *p, const float *row, int32_t n, int32_t *ids) {
    static float probs[MOST];
    sampler *s = NULL;
    size_t n_ids = 0;
    rn_error err = {0};
    CHECK_OK(sampler_create(p, &kernel_set_get(CPU_REF)->row, n, 16, &s, &err), &err);
    CHECK_OK(sampler_distribution(s, row, ids, probs, MOST, &n_ids, &err), &err);
    sampler_destroy(s);
    return n_ids;
}

static int falling(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static int32_t random_row(float *row) {
    const int32_t n = 3 + below(MOST - 3);
    const double scale = 0.2 + 4 * uniform();
    for (int32_t i = 0; i < n; i++) row[i] = (float)(scale * (uniform() + uniform() + uniform() + uniform() - 2));
    return n;
}

static void sorted_probabilities(const float *row, int32_t n, double *p) {
    double total = 0;
    for (int32_t i = 0; i < n; i++) total += exp((double)row[i]);
    for (int32_t i = 0; i < n; i++) p[i] = exp((double)row[i]) / total;
    qsort(p, (size_t)n, sizeof *p, falling);
}

// Weights have 38 fractional bits: a bound is not closer to a probability than that in these rows.
static size_t count_from(const double *p, int32_t n, double least) {
    size_t k = 0;
    while (k < (size_t)n && p[k] >= least) k++;
    return k > 0 ? k : 1;
}

TEST(top_a_keeps_what_has_the_share_of_the_squared_best_probability) {
    for (int round = 0; round < 500; round++) {
        float row[MOST];
        double p[MOST];
        int32_t ids[MOST];
        struct sampling_params params = only("top_a");
        const int32_t n = random_row(row);
        params.top_a = (float)uniform();
        sorted_probabilities(row, n, p);
        check_note("round %d", round);
        CHECK_INT(n_left(&params, row, n, ids), count_from(p, n, (double)params.top_a * p[0] * p[0]));
    }
}

TEST(top_n_sigma_keeps_what_lies_within_the_deviation_of_the_finite_logits) {
    for (int round = 0; round < 500; round++) {
        float row[MOST];
        int32_t ids[MOST];
        struct sampling_params params = only("top_n_sigma");
        const int32_t n = random_row(row);
        params.top_n_sigma = (float)(3 * uniform());
        double mean = 0, square = 0, max = -INFINITY;
        int32_t n_finite = 0;
        size_t want = 0;
        for (int32_t i = 1; i < n; i++) // one stays in any case
            if (uniform() < 0.3) row[i] = -INFINITY;
        for (int32_t i = 0; i < n; i++)
            if (row[i] > -INFINITY) mean += (double)row[i], n_finite++, max = fmax(max, (double)row[i]);
        mean /= n_finite;
        for (int32_t i = 0; i < n; i++)
            if (row[i] > -INFINITY) square += ((double)row[i] - mean) * ((double)row[i] - mean);
        for (int32_t i = 0; i < n; i++)
            want += (double)row[i] >= max - (double)params.top_n_sigma * sqrt(square / n_finite);
        check_note("round %d", round);
        CHECK_INT(n_left(&params, row, n, ids), want);
    }
}

TEST(tail_free_cuts_where_the_curvature_has_its_share) {
    for (int round = 0; round < 500; round++) {
        float row[MOST];
        double p[MOST], d[MOST], total = 0, sum = 0;
        int32_t ids[MOST];
        size_t k = 0;
        struct sampling_params params = only("tfs");
        const int32_t n = random_row(row);
        params.tfs_z = (float)(0.99 * uniform());
        sorted_probabilities(row, n, p);
        for (int32_t i = 0; i + 2 < n; i++) total += d[i] = fabs(p[i] - 2 * p[i + 1] + p[i + 2]);
        while (k + 2 < (size_t)n && (sum += d[k]) <= (double)params.tfs_z * total) k++;
        check_note("round %d", round);
        CHECK_INT(n_left(&params, row, n, ids), k + 1);
    }
}

TEST(tail_free_leaves_what_has_no_tail) {
    static const float equal[5] = {1, 1, 1, 1, 1}, two[2] = {1, 0};
    struct sampling_params params = only("tfs");
    int32_t ids[MOST];
    params.tfs_z = 0;
    CHECK_INT(n_left(&params, equal, 5, ids), 5);
    CHECK_INT(n_left(&params, two, 2, ids), 2);
}

TEST(xtc_keeps_the_least_likely_of_the_likely_at_its_share_of_positions) {
    static const float row[6] = {5, 4.9f, 4.8f, 0, -1, -2};
    struct sampling_params p = only("xtc");
    rn_error err = {0};
    sampler *s = NULL;
    int n_applied = 0, n_low = 0;
    enum { N = 4000 };
    p.xtc_probability = 0.3f, p.xtc_threshold = 0.1f, p.seed = 5;
    CHECK_OK(sampler_create(&p, &kernel_set_get(CPU_REF)->row, 6, 8, &s, &err), &err);
    for (uint32_t position = 0; position < N; position++) {
        int32_t token = -1;
        CHECK_OK(sampler_draw(s, row, position, &token, &err), &err);
        const bool applies = philox_uniform(5, 0, position, PHILOX_XTC) < (double)p.xtc_probability;
        n_applied += applies;
        n_low += token >= 2;
        if (applies && !CHECK(token >= 2)) break;
    }
    CHECK(n_applied > N * 0.27 && n_applied < N * 0.33);
    CHECK(n_low > N / 2 && n_low < N * 6 / 10); // 0.3 and, of the rest, the third of those that are likely
    sampler_destroy(s);
}

TEST(xtc_does_nothing_to_a_single_likely_token_or_above_one_half) {
    static const float row[4] = {5, 1, 0, 0}, even[4] = {5, 5, 0, 0};
    struct sampling_params p = only("xtc");
    int32_t ids[MOST];
    p.xtc_probability = 1, p.xtc_threshold = 0.1f;
    CHECK_INT(n_left(&p, row, 4, ids), 4);
    CHECK_INT(n_left(&p, even, 4, ids), 3);
    p.xtc_threshold = 0.51f;
    CHECK_INT(n_left(&p, even, 4, ids), 4);
    p.xtc_threshold = 0.1f, p.min_keep = 4; // fewer would be left
    CHECK_INT(n_left(&p, even, 4, ids), 4);
}

TEST(a_dynamic_temperature_follows_the_entropy) {
    static const float sure[4] = {20, 0, 0, 0}, unsure[4] = {1, 1, 1, 1};
    struct sampling_params p = only("temperature");
    int32_t ids[4];
    float probs[4];
    size_t n = 0;
    sampler *s = NULL;
    rn_error err = {0};
    p.temp = 1, p.dynatemp_range = 1;
    CHECK_INT(n_left(&p, sure, 4, ids), 4);
    CHECK_INT(n_left(&p, unsure, 4, ids), 4);
    static const float middle[2] = {1, 0};
    p.dynatemp_exponent = 2;
    CHECK_OK(sampler_create(&p, &kernel_set_get(CPU_REF)->row, 2, 8, &s, &err), &err);
    CHECK_OK(sampler_distribution(s, middle, ids, probs, 2, &n, &err), &err);
    const double a = exp(1) / (exp(1) + 1), h = (-a * log(a) - (1 - a) * log(1 - a)) / log(2), t = 2 * h * h;
    CHECK(fabs((double)probs[0] - exp(1 / t) / (exp(1 / t) + 1)) < 1e-5);
    sampler_destroy(s);
}
