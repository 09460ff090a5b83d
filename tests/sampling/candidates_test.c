// tests/sampling/candidates_test.c - the ordered list, its exact weights, and the edges of cuts on equal weights.
#include "base/mem.h"
#include "kernels/kernels.h"
#include "sampling/sort_keys.h"
#include "sampling/stages.h"
#include "tests/check.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }
static const uint64_t one = (uint64_t)1 << 38; // the weight of the largest

static bool make(struct candidates *c, int32_t n_vocab) {
    rn_error err = {0};
    return CHECK_OK(candidates_init(c, rm(), n_vocab, 0, &err), &err);
}

TEST(a_running_weight_must_exceed_the_target) {
    static const float row[] = {5, 5, 5, 5, -INFINITY};
    struct candidates c;
    if (!make(&c, 5)) return;
    candidates_take_from(&c, row, -INFINITY);
    CHECK_INT(c.n, 4);
    CHECK_INT(candidates_weigh(&c), 4 * one);
    static const struct {
        uint64_t eighths;
        int below;
        size_t want;
    } rows[] = {{0, 0, 0}, {8, 1, 0}, {8, 0, 1}, {16, 1, 1}, {16, 0, 2}, {24, 0, 3}, {32, 1, 3}, {32, 0, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(candidates_find(&c, rows[i].eighths * (one / 8) - (uint64_t)rows[i].below), rows[i].want);
    candidates_free(&c);
}

TEST(top_p_on_equal_weights_cuts_where_the_mass_is_reached_exactly) {
    static const float row[] = {2, 2, 2, 2};
    const struct {
        float top_p;
        size_t want;
    } rows[] = {{0, 1},
                {0.25f, 1},
                {nextafterf(0.25f, 1), 2},
                {0.5f, 2},
                {nextafterf(0.5f, 1), 3},
                {0.75f, 3},
                {nextafterf(0.75f, 1), 4},
                {nextafterf(1, 0), 4}};
    struct candidates c;
    if (!make(&c, 4)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("top_p %.9g", (double)rows[i].top_p);
        stage_take_top_p(&c, row, 2, rows[i].top_p, 1);
        CHECK_INT(c.n, rows[i].want);
        candidates_take_from(&c, row, -INFINITY);
        stage_cut_top_p(&c, rows[i].top_p, 1);
        CHECK_INT(c.n, rows[i].want);
        for (size_t k = 0; k < c.n; k++) CHECK_INT(c.ids[k], k);
    }
    candidates_free(&c);
}

TEST(weights_end_where_38_bits_do) {
    static const float depths[] = {0, 1, 10, 26, 27, 27.1f, 28, 100, INFINITY};
    float row[9];
    struct candidates c;
    for (int i = 0; i < 9; i++) row[i] = 3 - depths[i];
    if (!make(&c, 9)) return;
    candidates_take_from(&c, row, -INFINITY);
    candidates_weigh(&c);
    CHECK_INT(c.n, 8);
    for (size_t i = 0; i < c.n; i++) {
        const double want = exp(-(double)depths[i]) * (double)one;
        check_note("depth %g", (double)depths[i]);
        CHECK(fabs((double)candidates_weight(&c, i) - want) <= 0.5 + want * 0x1p-22);
    }
    CHECK(candidates_weight(&c, 4) == 1 && candidates_weight(&c, 5) == 0);
    candidates_free(&c);
}

TEST(the_weight_of_a_row_is_that_of_its_whole_list) {
    enum { N = 1500 };
    static float row[N];
    struct candidates c;
    if (!make(&c, N)) return;
    for (int i = 0; i < N; i++) row[i] = (float)((i * 7919) % 4001) / 100 - 20;
    const float max = rm()->max(row, N);
    const uint64_t total = candidates_row_weight(&c, row, max);
    for (uint64_t part = 0; part <= 64; part++) {
        const uint64_t need = part == 0 ? 1 : total / 64 * part;
        candidates_take_weight(&c, row, max, need);
        CHECK(candidates_weigh(&c) >= need);
    }
    candidates_take_from(&c, row, -INFINITY);
    CHECK_INT(candidates_weigh(&c), total);
    candidates_free(&c);
}

TEST(keys_sort_by_falling_logit_then_rising_id) {
    static const float values[] = {FLT_MAX, 1e20f, 2, 1.5f, FLT_MIN, 0, -FLT_MIN, -1.5f, -2, -1e20f, -FLT_MAX};
    enum { N_VALUES = sizeof values / sizeof *values, MAX_KEYS = 300 };
    static uint64_t keys[MAX_KEYS], spare[MAX_KEYS];
    for (size_t n = 0; n <= MAX_KEYS; n++) {
        float logit[MAX_KEYS];
        for (size_t i = 0; i < n; i++) {
            logit[i] = values[i * 31 % N_VALUES];
            if (logit[i] == 0 && i % 2) logit[i] = -0.0f;
            keys[i] = sort_key(logit[i], (int32_t)i);
        }
        const uint64_t *sorted = sort_keys(keys, spare, n);
        bool ok = true;
        for (size_t i = 1; i < n && ok; i++) {
            const int32_t a = sort_key_id(sorted[i - 1]), b = sort_key_id(sorted[i]);
            ok = logit[a] > logit[b] || (logit[a] == logit[b] && a < b);
        }
        if (!CHECK(ok)) break;
    }
}

static rn_status make_and_free(void *user) {
    struct candidates c;
    rn_error err = {0};
    const rn_status st = candidates_init(&c, rm(), 400, *(const int32_t *)user, &err);
    candidates_free(&c);
    return st;
}
TEST(every_failed_allocation_of_a_list_is_reported_and_leaks_nothing) {
    for (int32_t k = 0; k <= 400; k += 40) check_each_failed_allocation(make_and_free, &k, __FILE__, __LINE__);
}
