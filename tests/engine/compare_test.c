// tests/engine/compare_test.c - rn_compare(): two models over one text, row against row.
#include "tests/engine/fixture.h"
#include "tests/support/tiny_model.h"
#include <math.h>

enum { N_IDS = 70, N_VOCAB = 300 };

// Two tiny models that differ in their seed, or in their vocabulary, and an engine for both.
struct pair {
    rn_model *models[2];
    rn_engine *engine;
};
static bool pair_open(struct pair *p, uint64_t seed, int n_vocab, int n_batch) {
    rn_engine_options o = engine_options();
    rn_error err = {0};
    *p = (struct pair){0};
    o.n_batch = n_batch;
    for (int i = 0; i < 2; i++) {
        struct tiny_model m = tiny_model_default();
        char path[512];
        snprintf(path, sizeof path, "%s/%d.gguf", temp_dir(), i);
        if (i == 1) m.seed = seed, m.n_vocab = n_vocab;
        if (!CHECK(tiny_model_write(&m, path)) || !CHECK_OK(rn_model_open(path, NULL, &p->models[i], &err), &err))
            return false;
    }
    return CHECK_OK(rn_engine_open(p->models, 2, &o, &p->engine, &err), &err);
}
static void pair_close(struct pair *p) {
    rn_engine_close(p->engine);
    for (int i = 0; i < 2; i++) rn_model_close(p->models[i]);
}

static void fill_ids(int32_t ids[N_IDS]) {
    for (int i = 0; i < N_IDS; i++) ids[i] = i * 37 % 256;
}

struct rows {
    float *logits[2];
    size_t n, stop_at;
};
static bool take_one(void *user, size_t i, const float *logits, int32_t n_vocab) {
    float *to = user;
    memcpy(to + i * (size_t)n_vocab, logits, (size_t)n_vocab * sizeof *to);
    return false;
}
static bool take_both(void *user, size_t i, const float *logits, const float *reference, int32_t n_vocab) {
    struct rows *r = user;
    CHECK_INT(i, r->n++);
    memcpy(r->logits[0] + i * (size_t)n_vocab, logits, (size_t)n_vocab * sizeof *logits);
    memcpy(r->logits[1] + i * (size_t)n_vocab, reference, (size_t)n_vocab * sizeof *logits);
    return r->n == r->stop_at;
}

TEST(both_rows_are_those_that_a_score_gives) {
    for (int n_batch = 0; n_batch <= 16; n_batch += 8) { // steps of 512, 8 and 16 rows
        struct pair p;
        rn_error err = {0};
        int32_t ids[N_IDS];
        struct rows r = {0};
        float *want = calloc(N_IDS * N_VOCAB, sizeof *want);
        fill_ids(ids);
        check_note("steps of %d", n_batch);
        for (int i = 0; i < 2; i++) r.logits[i] = calloc(N_IDS * N_VOCAB, sizeof *want);
        if (pair_open(&p, 9, N_VOCAB, n_batch) &&
            CHECK_OK(rn_compare(p.engine, 0, 1, ids, N_IDS, take_both, &r, &err), &err)) {
            CHECK_INT(r.n, N_IDS);
            for (size_t k = 0; k < 2; k++) {
                CHECK_OK(rn_score(p.engine, k, ids, N_IDS, take_one, want, &err), &err);
                CHECK_MEM(r.logits[k], want, N_IDS * N_VOCAB * sizeof *want);
            }
            CHECK(memcmp(r.logits[0], r.logits[1], N_VOCAB * sizeof *want) != 0);
        }
        pair_close(&p);
        for (int i = 0; i < 2; i++) free(r.logits[i]);
        free(want);
    }
}

TEST(a_comparison_can_be_stopped_and_gives_its_pages_back) {
    struct pair p;
    rn_error err = {0};
    int32_t ids[N_IDS];
    struct rows r = {.stop_at = 5};
    rn_engine_stats stats = {.struct_size = sizeof stats};
    fill_ids(ids);
    for (int i = 0; i < 2; i++) r.logits[i] = calloc(N_IDS * N_VOCAB, sizeof(float));
    if (!pair_open(&p, 9, N_VOCAB, 0)) return;
    CHECK_FAILS(rn_compare(p.engine, 0, 1, ids, N_IDS, take_both, &r, &err), RN_E_CANCELLED, &err);
    CHECK_HAS(err.text, "position 4");
    CHECK_INT(r.n, 5);
    rn_engine_get_stats(p.engine, &stats, NULL);
    CHECK_INT(stats.kv_pages_free + stats.kv_pages_cached, stats.kv_pages);
    pair_close(&p);
    for (int i = 0; i < 2; i++) free(r.logits[i]);
}

TEST(what_cannot_be_compared_is_refused) {
    struct pair p;
    rn_error err = {0};
    int32_t ids[129] = {0}, bad[] = {1, 300};
    struct rows r = {0};
    if (!pair_open(&p, 9, 310, 0)) return;
    CHECK_FAILS(rn_compare(p.engine, 0, 1, ids, 4, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "only models of one vocabulary can be compared");
    pair_close(&p);
    if (!pair_open(&p, 9, N_VOCAB, 0)) return;
    CHECK_FAILS(rn_compare(p.engine, 0, 0, ids, 4, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_compare(p.engine, 0, 2, ids, 4, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_compare(p.engine, 0, 1, ids, 0, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_compare(p.engine, 0, 1, NULL, 4, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_FAILS(rn_compare(p.engine, 0, 1, ids, 129, take_both, &r, &err), RN_E_LIMIT, &err);
    CHECK_FAILS(rn_compare(p.engine, 0, 1, bad, 2, take_both, &r, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "token 300 is outside 0..299");
    CHECK_INT(r.n, 0);
    pair_close(&p);
}
