// tests/decoding/draft_heads_test.c - what drafters with heads share: the best tree of guesses, probabilities of a row, whether to draft at all.
#include "base/philox.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_top.h"
#include "decoding/draft/draft_tree.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>

static double uniform(uint64_t seed, uint32_t i) { return philox_uniform(seed, 3, i, PHILOX_TEST); }

// ---- trees ----------------------------------------------------------------------------------------------------------

enum { LEVELS = 3, WIDE = 4 };

static void make_levels(struct draft_level *levels, uint64_t seed) {
    for (uint32_t i = 0; i < LEVELS; i++) {
        levels[i].n = 1 + (int32_t)(uniform(seed, 100 + i) * WIDE);
        for (int32_t k = 0; k < levels[i].n; k++) {
            const float u = seed % 4 ? (float)uniform(seed, 10 * i + (uint32_t)k) : 0.5F; // ties
            levels[i].tokens[k] = (int32_t)(100 * i) + k, levels[i].classes[k] = k;
            levels[i].shares[k] = k == 0 ? u : levels[i].shares[k - 1] * u;
        }
    }
}

static double reach_of(const struct draft_level *levels, const struct draft *d, int32_t node) {
    double reach = 1;
    for (; node != DRAFT_ROOT; node = d->parents[node])
        reach *= (double)levels[d->tokens[node] / 100].shares[d->tokens[node] % 100];
    return reach;
}

static int descending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// All products along paths of the whole tree; returns how many.
static int32_t all_products(const struct draft_level *levels, int32_t level, double reach, double *out, int32_t n) {
    for (int32_t k = 0; level < LEVELS && k < levels[level].n; k++) {
        out[n++] = reach * (double)levels[level].shares[k];
        n = all_products(levels, level + 1, out[n - 1], out, n);
    }
    return n;
}

TEST(a_tree_of_guesses_has_the_largest_products_in_their_order) {
    static double all[WIDE + WIDE * WIDE + WIDE * WIDE * WIDE];
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct draft_level levels[LEVELS];
        struct draft d;
        const int32_t most = 1 + (int32_t)(uniform(seed, 200) * DRAFT_MOST);
        make_levels(levels, seed);
        const int32_t n = all_products(levels, 0, 1, all, 0);
        qsort(all, (size_t)n, sizeof *all, descending);
        draft_tree_build(levels, LEVELS, most, &d);
        check_note("seed %d", (int)seed);
        if (!CHECK_INT(d.n, n < most ? n : most)) return;
        for (int32_t i = 0; i < d.n; i++) {
            CHECK(d.parents[i] >= DRAFT_ROOT && d.parents[i] < i);
            CHECK_INT(d.tokens[i] / 100, d.parents[i] == DRAFT_ROOT ? 0 : d.tokens[d.parents[i]] / 100 + 1);
            CHECK_INT(d.classes[i], d.tokens[i] % 100);
            CHECK(fabs(reach_of(levels, &d, i) - all[i]) < 1e-6);
            for (int32_t k = 0; k < i; k++) CHECK(d.parents[k] != d.parents[i] || d.tokens[k] != d.tokens[i]);
        }
    }
}

TEST(a_head_without_candidates_ends_the_tree) {
    struct draft_level levels[2] = {{.n = 1, .tokens = {5}, .shares = {0.5F}}, {.n = 0}};
    struct draft d;
    draft_tree_build(levels, 2, 8, &d);
    CHECK_INT(d.n, 1);
    CHECK_INT(d.tokens[0], 5);
    levels[0].n = 0;
    draft_tree_build(levels, 2, 8, &d);
    CHECK_INT(d.n, 0);
}

// ---- rows -----------------------------------------------------------------------------------------------------------

TEST(the_top_of_a_row_has_its_probabilities_and_mapped_tokens) {
    enum { N = 37 };
    const struct rowmath *const rm = &kernel_set_get(CPU_REF)->row;
    float row[N];
    int32_t map[N], *const scratch = calloc(draft_top_scratch(N), sizeof *scratch);
    struct draft_top top;
    double sum = 0;
    for (uint32_t i = 0; i < N; i++) row[i] = (float)(4 * uniform(7, i)), map[i] = (int32_t)(2 * i + 1);
    row[4] = row[21] = 9; // equal ones: the first goes first
    for (int i = 0; i < N; i++) sum += exp((double)row[i]);
    draft_top_of(rm, row, N, map, 5, scratch, &top);
    CHECK_INT(top.n, 5);
    CHECK_INT(top.tokens[0], 9), CHECK_INT(top.tokens[1], 43);
    for (int i = 0; i < top.n; i++)
        CHECK(fabs((double)top.probs[i] - exp((double)row[(top.tokens[i] - 1) / 2]) / sum) < 1e-6);
    draft_top_of(rm, row, 3, NULL, 5, scratch, &top);
    CHECK_INT(top.n, 3);
    row[2] = NAN;
    draft_top_of(rm, row, N, NULL, 5, scratch, &top);
    CHECK_INT(top.n, 0);
    row[2] = INFINITY;
    draft_top_of(rm, row, N, NULL, 5, scratch, &top);
    CHECK_INT(top.n, 0);
    free(scratch);
}

TEST(classes_of_probabilities_cover_all_of_them) {
    int32_t before = DRAFT_TOP_CLASSES;
    for (int i = 0; i <= 1000; i++) {
        const int32_t class = draft_class_of_prob((float)i / 1000);
        CHECK(class >= 0 && class <= before && class < DRAFT_TOP_CLASSES);
        before = class;
    }
    CHECK_INT(before, 0);
}

// ---- does it pay? ---------------------------------------------------------------------------------------------------

// A step of n rows takes base + (n - 1) * more.
static void learn_times(struct step_time *t, double base, double more) {
    for (size_t n = 1; n <= STEP_TIME_EXACT; n++)
        for (int i = 0; i < 8; i++) step_time_learn(t, n, 0, (int64_t)(base + (double)(n - 1) * more));
}

static struct draft chain(int32_t n) {
    struct draft d = {0};
    for (int32_t i = 0; i < n; i++) draft_add(&d, i, i - 1, 0);
    return d;
}

TEST(heads_are_asked_where_their_drafts_pay_or_asking_costs_little) {
    static struct step_time time;
    static struct draft_step step;
    struct draft_ask ask = {.most = 16, .step = &step};
    struct draft_odds odds;
    struct draft_pay pay = {0};
    const struct draft four = chain(4);
    const float sure = 0.9F, wrong = 0.01F;
    draft_step_init(&step, &time, 1, 1);
    CHECK(!draft_pays(&pay, 0, &ask)); // no step was measured
    learn_times(&time, 1000, 50);
    draft_step_init(&step, &time, 1, 1);
    CHECK(draft_pays(&pay, 1e9, &ask)); // what it guesses is not known
    draft_odds_init(&odds, &sure, 1);
    for (int i = 0; i < 50; i++) draft_pay_learn(&pay, &odds, &four);
    CHECK(draft_pays(&pay, 500, &ask));   // 4.1 tokens in 1.7 steps
    CHECK(!draft_pays(&pay, 4000, &ask)); // in 5.2 steps
    draft_odds_init(&odds, &wrong, 1);
    for (int i = 0; i < 50; i++) draft_pay_learn(&pay, &odds, &four);
    CHECK(!draft_pays(&pay, 500, &ask));
    ask.probe_ns = 499;
    CHECK(!draft_pays(&pay, 500, &ask));
    ask.probe_ns = 501;
    CHECK(draft_pays(&pay, 500, &ask));
    ask.probe_ns = 0, ask.least = 1;
    CHECK(draft_pays(&pay, 500, &ask)); // whether it pays or not
}

TEST(steps_of_heads_are_shared_by_the_streams_of_a_batch) {
    static struct step_time time;
    const struct strategy_slot slot = {.time = &time};
    CHECK(draft_share_ns(&slot, 1, 1) == 0);
    learn_times(&time, 1000, 100);
    CHECK(fabs(draft_share_ns(&slot, 2, 4) - (1000 + 7 * 100) / 4.0) < 1);
    CHECK(fabs(draft_share_ns(&slot, 1, 1) - 1000) < 1);
}
