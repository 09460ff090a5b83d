// tests/engine/layer_skip_test.c - some of the model's own layers draft: the same tokens, in the same weights.
#include "base/mem.h"
#include "fixture.h"

// The default model has 6 layers.
static bool open_with(struct fixture *f, const char *layers) {
    rn_error err = {0};
    rn_engine_options o = engine_options();
    o.n_ctx = 256;
    *f = (struct fixture){0};
    return CHECK_OK(rn_model_open(stories(), NULL, &f->model, &err), &err) &&
           (!layers || CHECK_OK(rn_model_add_draft_heads(f->model, RN_DRAFT_HEAD_LAYERS, layers, &err), &err)) &&
           CHECK_OK(rn_engine_open(&f->model, 1, &o, &f->engine, &err), &err);
}

static bool run_with(rn_engine *e, const char *speculate, float temp, struct outcome *o) {
    static const char text[] = "Once upon a time";
    const rn_part part = {.kind = RN_PART_TEXT, .text = text, .n_text = strlen(text)};
    struct rn_sampling sampling;
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    sampling.temp = temp;
    r.parts = &part, r.n_parts = 1, r.sampling = &sampling, r.seed = 3, r.has_seed = true;
    r.max_tokens = 100, r.ignore_eos = true, r.logprobs = 0, r.speculate = speculate;
    if (strcmp(speculate, "none") != 0) r.draft_min = r.draft_max = 4;
    return run_request(e, &r, o);
}

static uint64_t planned(const rn_engine *e, rn_memory_kind kind) {
    rn_memory m = {.struct_size = sizeof m};
    rn_error err = {0};
    CHECK_OK(rn_engine_get_memory(e, &m, &err), &err);
    return m.part[kind].planned;
}

TEST(some_of_the_layers_draft_in_the_same_weights) {
    static const struct {
        const char *layers;
        int32_t n_kept, least_right; // of 100 tokens
    } rows[] = {{"6", 6, 70}, {"5", 5, 20}, {"1-2", 4, 20}, {"0-0,2-3,5-5", 2, 0}, {"1", 1, 0}};
    static struct outcome plain[2], o;
    struct fixture f;
    if (!open_with(&f, NULL)) return;
    const uint64_t weights = planned(f.engine, RN_MEMORY_REPACKED), file = planned(f.engine, RN_MEMORY_FILE),
                   kv = planned(f.engine, RN_MEMORY_KV);
    for (int hot = 0; hot < 2; hot++)
        if (!run_with(f.engine, "none", hot ? 0.7F : 0, &plain[hot])) return;
    fixture_close(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].layers);
        if (!open_with(&f, rows[i].layers)) return;
        CHECK_INT(planned(f.engine, RN_MEMORY_REPACKED), weights);
        CHECK_INT(planned(f.engine, RN_MEMORY_FILE), file);
        CHECK_INT(planned(f.engine, RN_MEMORY_KV), kv + kv * (uint64_t)rows[i].n_kept / 6);
        for (int hot = 0; hot < 2; hot++) {
            if (!run_with(f.engine, "layer-skip", hot ? 0.7F : 0, &o)) return;
            if (!CHECK_INT(o.n_tokens, plain[hot].n_tokens)) return;
            CHECK_MEM(o.tokens, plain[hot].tokens, o.n_tokens * sizeof *o.tokens);
            CHECK_MEM(o.logprobs, plain[hot].logprobs, o.n_tokens * sizeof *o.logprobs);
            CHECK(o.usage.drafted_tokens > 60 && (hot || o.usage.accepted_tokens >= rows[i].least_right));
        }
        fixture_close(&f);
    }
}

TEST(of_a_long_prompt_the_layers_read_the_end) {
    static struct outcome o;
    int32_t ids[200];
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 200};
    struct rn_sampling sampling;
    struct fixture f;
    rn_request r;
    if (!open_with(&f, "3")) return;
    for (int32_t i = 0; i < 200; i++) ids[i] = 300 + i * 7 % 90;
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    sampling.temp = 0;
    r.parts = &part, r.n_parts = 1, r.sampling = &sampling, r.max_tokens = 8, r.ignore_eos = true;
    r.speculate = "layer-skip", r.draft_min = r.draft_max = 1;
    if (run_request(f.engine, &r, &o)) CHECK(o.usage.model_rows > 200 + 32 && o.usage.model_rows < 200 + 32 + 4 * 8);
    fixture_close(&f);
}

TEST(what_names_no_layers_is_refused) {
    static const char *const bad[] = {"",    "0",       "7",       "x",           "1-",   "-1",           "1-2,",
                                      "2-1", "0-5",     "4-6",     "1,2",         "3,5",  "1-2,3",        "1-2 ",
                                      " 1",  "1-2;3-4", "0-2,3-5", "99999999999", "1--2", "0-99999999999"};
    rn_model *m;
    rn_error err = {0};
    if (!CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err)) return;
    const long live = mem_live();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_note("\"%s\"", bad[i]);
        CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_LAYERS, bad[i], &err), RN_E_ARG, &err);
        CHECK_HAS(err.text, "is neither a number of first layers that draft, 1..6, nor ranges");
        CHECK_INT(mem_live(), live);
    }
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_LAYERS, NULL, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "layer-skip: the layers are not named");
    for (long n = 1;; n++) {
        mem_fail_after(n);
        const rn_status st = rn_model_add_draft_heads(m, RN_DRAFT_HEAD_LAYERS, "3", &err);
        const bool done = !mem_fail_fired();
        mem_fail_after(0);
        if (!CHECK_INT(st, done ? RN_OK : RN_E_NOMEM) || done || !CHECK_INT(mem_live(), live)) break;
    }
    CHECK_FAILS(rn_model_add_draft_heads(m, RN_DRAFT_HEAD_LAYERS, "3", &err), RN_E_STATE, &err);
    rn_model_close(m);
}
