// tests/engine/contrast_test.c - contrastive decoding with an amateur over the toy model, against a plain model of its definition
// (plain_answers.h).
#include "plain_answers.h"
#include "sampling/contrast.h"

static double log_sum_exp(const float *row, int32_t n, double temperature) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += exp((double)row[i] / temperature);
    return log(sum);
}

static const struct rowmath *rm(void) { return &kernel_set_get(CPU_REF)->row; }

static void random_row(uint64_t seed, float *row, int32_t n) {
    for (int32_t i = 0; i < n; i++) row[i] = (float)(12 * philox_uniform(seed, 0, (uint32_t)i, PHILOX_TEST));
}

TEST(the_mixed_row_is_that_of_the_formula) {
    enum { N = 97 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        float own[N], other[N], mixed[N];
        rn_error err = {0};
        const struct contrast c = {.weight = (float)(seed % 4) / 2,
                                   .temperature = 0.5F + (float)(seed % 3),
                                   .relative_top = seed % 5 ? (float)(seed % 5) / 50 : 0};
        random_row(2 * seed, own, N), random_row(2 * seed + 1, other, N);
        const double own_norm = log_sum_exp(own, N, 1), norm = log_sum_exp(other, N, (double)c.temperature);
        double most = 0;
        for (int i = 0; i < N; i++) most = fmax(most, exp((double)own[i] - own_norm));
        CHECK_OK(contrast_mix(rm(), &c, own, other, "the other", N, mixed, &err), &err);
        for (int i = 0; i < N; i++) {
            const double p = exp((double)own[i] - own_norm), bound = (double)c.relative_top * most;
            const double want = log(p) - (double)c.weight * ((double)other[i] / (double)c.temperature - norm);
            if (fabs(p - bound) < 1e-5 * bound) continue;
            CHECK(p < bound ? mixed[i] == -INFINITY : fabs((double)mixed[i] - want) < 1e-4);
        }
    }
}

TEST(a_row_without_a_maximum_is_named_and_what_the_other_one_rules_out_is_its_own) {
    const float own[] = {1, -INFINITY, 2, 0}, other[] = {0, 3, -INFINITY, 0}, nan[] = {0, NAN, 0, 0};
    const struct contrast c = {.weight = 1, .temperature = 1};
    float out[4];
    rn_error err = {0};
    CHECK_OK(contrast_mix(rm(), &c, own, other, "an amateur", 4, out, &err), &err);
    const double norm = log(exp(1) + exp(2) + 1), other_norm = log(2 + exp(3));
    CHECK(fabs((double)out[0] - (1 - norm + other_norm)) < 1e-5);
    CHECK(out[1] == -INFINITY);
    CHECK(fabs((double)out[2] - (2 - norm)) < 1e-5);
    CHECK_FAILS(contrast_mix(rm(), &c, nan, other, "an amateur", 4, out, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "logits: not finite");
    CHECK_FAILS(contrast_mix(rm(), &c, own, nan, "an amateur", 4, out, &err), RN_E_FORMAT, &err);
    CHECK_STR(err.text, "logits of an amateur: not finite");
}

TEST(the_divergence_of_rows_is_that_of_the_formula) {
    enum { N = 97 };
    float a[N], b[N], scratch[2 * N];
    for (uint64_t seed = 1; seed <= 50; seed++) {
        double want = 0;
        random_row(2 * seed, a, N), random_row(2 * seed + 1, b, N);
        if (seed % 5 == 0) a[3] = 90, b[4] = 95; // the others have next to nothing
        const double norm_a = log_sum_exp(a, N, 1), norm_b = log_sum_exp(b, N, 1);
        for (int i = 0; i < N; i++) {
            const double p = (double)a[i] - norm_a, q = (double)b[i] - norm_b, m = (exp(p) + exp(q)) / 2;
            want += m * (log(m) - p) + m * (log(m) - q);
        }
        CHECK(fabs(contrast_divergence(rm(), a, b, N, scratch) - want) < 1e-5 * (1 + want));
    }
    CHECK(fabs(contrast_divergence(rm(), a, a, N, scratch)) < 1e-6);
}

static int32_t choose(const struct toy_rig *g, const struct plan *p, const struct plain *m, int32_t *all, int32_t n) {
    const struct contrast c = {p->options.amateur_weight, p->options.amateur_temperature, p->options.relative_top};
    float own[TOY_VOCAB], amateur[TOY_VOCAB], mixed[TOY_VOCAB];
    rn_error err = {0};
    toy_lm_expect(&g->config, all, n, own);
    toy_lm_expect(&g->config_of_1, all, n, amateur);
    CHECK_OK(contrast_mix(rm(), &c, own, amateur, "", TOY_VOCAB, mixed, &err), &err);
    return draw_from(p, m, all, n, mixed);
}

static void make(struct plan *p, uint64_t seed) {
    struct toy_random r = {seed, 500};
    plan_make(p, seed);
    p->strategy = "contrastive-decoding";
    p->options.amateur_model = 1;
    p->options.amateur_weight = (float)toy_below(&r, 5) / 2;
    p->options.amateur_temperature = 0.5F + (float)toy_below(&r, 4) / 2;
    p->options.relative_top = toy_below(&r, 2) ? 0 : 1e-7F; // the letters are not the model's most probable tokens
}

static bool open_pair(struct toy_rig *g, int32_t n_pages, int32_t n_states, int n_streams, int n_threads) {
    *g = (struct toy_rig){.config = {.n_vocab = TOY_VOCAB,
                                     .n_ctx = TOY_CTX,
                                     .n_batch = 64,
                                     .n_want = 64,
                                     .max_seqs = 2 * n_streams + 2,
                                     .max_scratch = 4,
                                     .n_pages = n_pages,
                                     .n_groups = 1,
                                     .nan_token = -1}};
    g->config_of_1 = g->config;
    g->config_of_1.n_groups = 2, g->config_of_1.window = 7; // another function
    g->config_of_1.n_states = n_states;
    return toy_rig_open_models(g, n_streams, n_threads);
}

static int64_t attack(int32_t n_pages, int32_t n_states, int n_threads, uint64_t first) {
    struct toy_rig g;
    if (!open_pair(&g, n_pages, n_states, N_STREAMS, n_threads)) return 0;
    const int64_t n = plan_attack(&g, make, choose, first, 25);
    toy_rig_close(&g);
    return n;
}

TEST(each_token_is_drawn_from_what_the_model_says_more_than_the_amateur) {
    int64_t n_preempted = 0;
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        CHECK_INT(attack(64, 0, n_threads, 1), 0);
        n_preempted += attack(6, 0, n_threads, 100);
        n_preempted += attack(8, 0, n_threads, 200);
    }
    CHECK(n_preempted > 0);
}

TEST(a_recurrent_amateur_goes_back_where_strings_are_banned) { attack(64, 32, 2, 300); }

TEST(without_weight_and_threshold_the_text_is_the_models_own) {
    static struct outcome plain, contrasted;
    struct toy_rig g;
    if (!open_pair(&g, 64, 0, 1, 1)) return;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        make(&p, seed);
        p.options.amateur_weight = 0, p.options.relative_top = 0;
        p.repeat_penalty = 1; // goes by the sign, and log-probabilities have none
        rn_request r = plan_request(&p, &part, &sampling);
        if (!run_request(g.engine, &r, &contrasted)) break;
        r.strategy = NULL, r.strategy_options = NULL, r.speculate = "none";
        if (run_request(g.engine, &r, &plain)) same_outcome(&contrasted, &plain);
    }
    toy_rig_close(&g);
}

TEST(what_an_amateur_cannot_be_is_refused_by_name) {
    static const struct {
        int32_t model;
        const char *strategy, *speculate, *why;
        float guidance;
        rn_status code;
    } rows[] = {
        {0, "contrastive-decoding", NULL,
         "amateur_model: the strategy needs the number of another model, or an engine with one", 1, RN_E_ARG},
        {2, "contrastive-decoding", NULL, "amateur_model: 2 is no model, 1..1", 1, RN_E_ARG},
        {1, "sample", NULL, "amateur_model: is an option of the strategy contrastive-decoding, not of sample", 1,
         RN_E_ARG},
        {1, "contrastive-decoding", "ngram", "speculate: not with the strategy contrastive-decoding", 1,
         RN_E_UNSUPPORTED},
        {1, "contrastive-decoding", NULL, "guidance_scale: not with the strategy contrastive-decoding", 2,
         RN_E_UNSUPPORTED},
        {0, "dola", NULL, "dola: the model was opened without early layers", 1, RN_E_UNSUPPORTED},
    };
    struct toy_rig g;
    if (!open_pair(&g, 64, 0, 1, 1)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct plan p;
        rn_part part;
        rn_sampling sampling;
        rn_stream *s = NULL;
        rn_error err = {0};
        plan_make(&p, 1);
        p.n_banned = 0;
        p.strategy = rows[i].strategy, p.options.amateur_model = rows[i].model;
        rn_request r = plan_request(&p, &part, &sampling);
        r.speculate = rows[i].speculate, r.guidance_scale = rows[i].guidance;
        check_note("row %zu", i);
        CHECK_FAILS(rn_stream_begin(g.engine, &r, &s, &err), rows[i].code, &err);
        CHECK_HAS(err.text, rows[i].why);
    }
    toy_rig_close(&g);
}

static rn_status run_once(void *user) {
    struct toy_rig *const g = user;
    static struct plan p;
    make(&p, 3);
    return plan_run_once(g, &p);
}
TEST(every_failed_allocation_is_reported_and_leaks_nothing) {
    struct toy_rig g;
    if (!open_pair(&g, 64, 0, 1, 1)) return;
    check_each_failed_allocation(run_once, &g, __FILE__, __LINE__);
    toy_rig_close(&g);
}
