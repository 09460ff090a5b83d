// tests/decoding/draft_heads_test.c - what drafters with heads share: the best tree of guesses, probabilities of a row, features of tokens, whether to draft at all.
#include "base/philox.h"
#include "decoding/draft/draft_pay.h"
#include "decoding/draft/draft_top.h"
#include "decoding/draft/draft_tree.h"
#include "decoding/draft/feature_ring.h"
#include "decoding/draft/guess_pool.h"
#include "kernels/kernels.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// Sequoia's programme (2402.12374), with shares of each level's own: the most that n nodes can be expected to give behind a node, as children of it from
// this rank on and what follows them.
static double best_of(const struct draft_level *levels, int32_t level, int32_t rank, int32_t n) {
    static double known[LEVELS][WIDE]
                       [DRAFT_MOST + 1]; // plus 1; 0: not known; of the last call's levels, which begins with n = -1
    if (n < 0) memset(known, 0, sizeof known);
    if (n <= 0 || level == LEVELS || rank == levels[level].n) return 0;
    double *const k = &known[level][rank][n];
    if (*k > 0) return *k - 1;
    double best = best_of(levels, level, rank + 1, n); // without this child
    for (int32_t own = 1; own <= n; own++) {
        const double with = (double)levels[level].shares[rank] * (1 + best_of(levels, level + 1, 0, own - 1)) +
                            best_of(levels, level, rank + 1, n - own);
        if (with > best) best = with;
    }
    *k = best + 1;
    return best;
}

TEST(a_tree_of_guesses_has_what_the_best_one_of_its_size_has_to_expect) {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct draft_level levels[LEVELS];
        struct draft d;
        double sum = 0;
        make_levels(levels, seed);
        draft_tree_build(levels, LEVELS, DRAFT_MOST, &d);
        best_of(levels, 0, 0, -1);
        check_note("seed %d", (int)seed);
        for (int32_t i = 0; i < d.n; i++) {
            sum += reach_of(levels, &d, i);
            if (!CHECK(fabs(sum - best_of(levels, 0, 0, i + 1)) < 1e-5)) return;
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
    struct draft_ask ask = {.most = 16, .step = &step, .lose_ns = INFINITY};
    struct draft_odds odds;
    struct draft_pay pay = {0};
    const struct draft four = chain(4);
    const float sure = 0.9F, wrong = 0.01F;
    draft_step_init(&step, &time, 1, 1, 1, 1);
    CHECK(!draft_pays(&pay, 0, &ask)); // no step was measured
    learn_times(&time, 1000, 50);
    draft_step_init(&step, &time, 1, 1, 1, 1);
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
    // Only large steps were measured: what a small one takes is not known, but at least its part.
    for (int i = 0; i < 3; i++) {
        CHECK(draft_share_ns(&slot, 1, 1) == 0);
        step_time_learn(&time, 30, 0, 30000);
    }
    CHECK(fabs(draft_share_ns(&slot, 1, 1) - 1000) < 1);
    CHECK(fabs(draft_share_ns(&slot, 2, 4) - 8000 / 4.0) < 1);
    time = (struct step_time){0};
    learn_times(&time, 1000, 100);
    CHECK(fabs(draft_share_ns(&slot, 2, 4) - (1000 + 7 * 100) / 4.0) < 1);
    CHECK(fabs(draft_share_ns(&slot, 1, 1) - 1000) < 1);
}

// ---- trees that grow ------------------------------------------------------------------------------------------------

enum { MOST_MADE = 400 };

static bool comes_before(const struct pool_node *a, const struct pool_node *b) {
    return a->reach != b->reach ? a->reach > b->reach : a->id < b->id;
}

// The first nodes of all that were made, in order.
static void compare_pool(const struct guess_pool *p, const struct pool_node *made, int32_t n_made) {
    CHECK_INT(p->n, n_made < DRAFT_MOST ? n_made : DRAFT_MOST);
    for (int32_t i = 0; i < n_made; i++) {
        int32_t rank = 0;
        for (int32_t k = 0; k < n_made; k++) rank += comes_before(&made[k], &made[i]);
        if (rank < p->n) CHECK_INT(p->nodes[rank].id, made[i].id);
    }
}

TEST(a_pool_of_guesses_keeps_those_that_are_reached_most_often) {
    static const float shares[] = {1, 0.5F, 0.5F, 0.25F, 0.9F, 0.05F};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static struct guess_pool p;
        static struct pool_node made[MOST_MADE];
        struct draft d;
        uint32_t u = 0;
        guess_pool_clear(&p);
        for (int32_t n = 0; n < MOST_MADE; n++) {
            const int32_t above = (int32_t)(uniform(seed, u++) * (p.n + 1)) - 1;
            const struct pool_node parent = above < 0 ? (struct pool_node){0} : p.nodes[above];
            const float share = shares[(int)(uniform(seed, u++) * 6)];
            made[n] = (struct pool_node){.id = n, .reach = (above < 0 ? 1 : parent.reach) * share};
            guess_pool_add(&p, above < 0 ? NULL : &parent, n, n % 16, share);
        }
        check_note("seed %d", (int)seed);
        compare_pool(&p, made, MOST_MADE);
        guess_pool_draft(&p, &d);
        CHECK_INT(d.n, p.n);
        for (int32_t i = 0; i < d.n; i++) {
            CHECK_INT(d.tokens[i], p.nodes[i].token), CHECK_INT(d.classes[i], p.nodes[i].token % 16);
            CHECK(d.parents[i] < i);
            CHECK_INT(d.parents[i] == DRAFT_ROOT ? DRAFT_ROOT : p.nodes[d.parents[i]].id, p.nodes[i].parent);
        }
    }
}

TEST(another_level_is_asked_for_where_it_gives_more_than_it_takes) {
    static struct step_time time;
    static struct draft_step step;
    static const float half = 0.5F;
    struct draft_odds depths;
    struct guess_pool p;
    int32_t ids[4];
    learn_times(&time, 1000, 20);
    draft_step_init(&step, &time, 1, 1, 1, 1);
    draft_odds_init(&depths, &half, 1);
    guess_pool_clear(&p);
    guess_pool_add(&p, NULL, 1, 0, 0.8F);
    guess_pool_add(&p, NULL, 2, 0, 0.1F);
    guess_pool_add(&p, NULL, 3, 0, 0.01F);
    struct pool_costs costs = {.step = &step, .depths = &depths, .most = 16, .spent_ns = 100, .level_ns = 100};
    // 1.8 tokens in 1.12 steps; 0.4 more in 0.12; behind the last guess 0.005 in 0.02, which does not pay
    CHECK_INT(guess_pool_next(&p, &costs, false, ids, 4), 2);
    CHECK_INT(ids[0], 0), CHECK_INT(ids[1], 1);
    CHECK_INT(guess_pool_next(&p, &costs, false, ids, 1), 1);
    costs.level_ns = 500;
    CHECK_INT(guess_pool_next(&p, &costs, false, ids, 4), 0);
    CHECK(guess_pool_next(&p, &costs, true, ids, 4) > 0);
    costs.level_ns = 0;
    for (int32_t i = 0; i < 3; i++) guess_pool_find(&p, i)->place = i; // all were looked behind
    CHECK_INT(guess_pool_next(&p, &costs, true, ids, 4), 0);
}

// ---- features -------------------------------------------------------------------------------------------------------

TEST(features_are_kept_until_they_are_read_and_a_gap_is_known) {
    struct feature_ring r;
    if (!CHECK(feature_ring_init(&r, 2))) return;
    for (int32_t i = 7; i < 12; i++) *feature_ring_put(&r, i) = (float)i;
    CHECK(r.has_gap && r.from == 7 && feature_ring_n(&r) == 5); // nothing before it was seen
    r.has_gap = false;
    *feature_ring_put(&r, 10) = 20; // again: what was behind it is no longer the text
    CHECK(!r.has_gap && r.to == 11 && *feature_ring_at(&r, 10) == 20 && *feature_ring_at(&r, 9) == 9);
    r.from = 11; // all were read
    CHECK(feature_ring_put(&r, 10) == NULL);
    CHECK_INT(feature_ring_cut(&r, 8, 8), 3);
    CHECK(r.from == 8 && r.to == 8 && !r.has_gap);
    CHECK(feature_ring_put(&r, 8) && feature_ring_put(&r, 9));
    CHECK_INT(feature_ring_cut(&r, 9, 9), 0);
    CHECK(r.from == 8 && r.to == 9 && !r.has_gap);
    for (int32_t i = 9; i < 8 + FEATURES_MOST; i++) *feature_ring_put(&r, i) = (float)i;
    CHECK(!r.has_gap && r.from == 8);
    *feature_ring_put(&r, 8 + FEATURES_MOST) = 1;
    CHECK(r.has_gap && r.from == 9 && *feature_ring_at(&r, 9) == 9);
    r.has_gap = false;
    *feature_ring_put(&r, 500) = 3;
    CHECK(r.has_gap && r.from == 500 && feature_ring_n(&r) == 1);
    feature_ring_free(&r);
}
