// tests/engine/contrastive_test.c - contrastive search over the toy model, against a plain model of its definition (plain_answers.h).
#include "plain_answers.h"

enum { MOST_K = 4 };

// As docs/decoding.md defines it: of length 1, in F32; sums in order.
static void unit(const struct toy_rig *g, const int32_t *all, int32_t n, float out[2]) {
    float h[2];
    toy_lm_expect_hidden(&g->config, all, n, h);
    const double length = sqrt((double)h[0] * (double)h[0] + (double)h[1] * (double)h[1]);
    for (int i = 0; i < 2; i++) out[i] = length > 0 ? (float)((double)h[i] / length) : h[i];
}

static double nearest(const struct toy_rig *g, const int32_t *all, int32_t n, const float state[2]) {
    double most = -1;
    for (int32_t i = 1; i <= n; i++) {
        float other[2], sum = 0;
        unit(g, all, i, other);
        for (int d = 0; d < 2; d++) sum += state[d] * other[d];
        if ((double)sum > most) most = (double)sum;
    }
    return most;
}

static int32_t choose(const struct toy_rig *g, const struct plan *p, const struct plain *m, int32_t *all, int32_t n) {
    const double alpha = (double)p->options.penalty_alpha;
    float row[TOY_VOCAB];
    double sum = 0, best = -INFINITY;
    int32_t found = -1;
    toy_lm_expect(&g->config, all, n, row);
    edit_row(p, m, all, n, row);
    for (int32_t i = 0; i < TOY_VOCAB; i++) sum += exp((double)row[i]);
    for (int32_t k = 0; k < p->options.num_candidates; k++) {
        int32_t top = 0;
        float state[2];
        for (int32_t i = 1; i < TOY_VOCAB; i++)
            if (row[i] > row[top]) top = i;
        all[n] = top;
        unit(g, all, n + 1, state);
        const double score =
            (1 - alpha) * exp((double)row[top]) / sum - (alpha > 0 ? alpha * nearest(g, all, n, state) : 0);
        if (score > best) best = score, found = top;
        row[top] = -INFINITY;
    }
    return found;
}

static void make(struct plan *p, uint64_t seed) {
    struct toy_random r = {seed, 500};
    plan_make(p, seed);
    p->strategy = "contrastive";
    p->options.penalty_alpha = (float)toy_below(&r, 5) / 4, p->options.num_candidates = 1 + toy_below(&r, MOST_K);
}

static int64_t attack(int32_t n_pages, int32_t n_states, int n_threads, uint64_t first) {
    struct toy_rig g;
    if (!toy_rig_open(&g, n_pages, n_states, N_STREAMS, n_threads)) return 0;
    const int64_t n = plan_attack(&g, make, choose, first, 25);
    toy_rig_close(&g);
    return n;
}

TEST(each_token_has_the_best_score_whatever_runs_beside_and_is_preempted) {
    int64_t n_preempted = 0;
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        CHECK_INT(attack(64, 0, n_threads, 1), 0);
        n_preempted += attack(7, 0, n_threads, 100);
        n_preempted += attack(10, 0, n_threads, 200);
    }
    CHECK(n_preempted > 0);
}

TEST(a_recurrent_model_gives_scratch_rows_their_states) { attack(64, 64, 2, 300); }

static rn_status run_once(void *user) {
    static struct plan p;
    make(&p, 3);
    return plan_run_once(user, &p);
}
TEST(every_failed_allocation_is_reported_and_leaks_nothing) {
    struct toy_rig g;
    if (!toy_rig_open(&g, 64, 0, 1, 1)) return;
    check_each_failed_allocation(run_once, &g, __FILE__, __LINE__);
    toy_rig_close(&g);
}
