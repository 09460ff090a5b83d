// tests/engine/ngram_cache_test.c - guesses from counts: of the text itself, of the client's finished answers, and of a file.
#include "fixture.h"
#include "toy_rig.h"
#include <runnel/tools.h>

static const char prompt_text[] = "Once upon a time";

// The most probable tokens; guesses are made in any case, so that their number does not depend on the clock.
static bool run_greedy(rn_engine *e, const rn_part *part, const char *speculate, uint64_t client, struct outcome *o) {
    struct rn_sampling sampling;
    rn_request r;
    rn_request_init(&r);
    rn_sampling_init(&sampling);
    sampling.temp = 0;
    r.parts = part, r.n_parts = 1, r.sampling = &sampling;
    r.max_tokens = 100, r.ignore_eos = true, r.logprobs = 0, r.client = client, r.cache_salt = 7;
    r.speculate = speculate;
    if (strcmp(speculate, "none") != 0) r.draft_min = r.draft_max = 4;
    return run_request(e, &r, o);
}

static void check_same(const struct outcome *o, const struct outcome *plain) {
    if (!CHECK_INT(o->n_tokens, plain->n_tokens)) return;
    CHECK_MEM(o->tokens, plain->tokens, plain->n_tokens * sizeof *plain->tokens);
    CHECK_MEM(o->logprobs, plain->logprobs, plain->n_tokens * sizeof *plain->logprobs);
}

// A cache of the prompt and the answer.
static bool make_cache(const rn_model *m, const struct outcome *o, const char *path) {
    rn_ngram_cache *c;
    rn_error err = {0};
    int32_t *ids;
    size_t n;
    if (!CHECK_OK(rn_ngram_cache_new(m, &c, &err), &err)) return false;
    CHECK_OK(rn_tokenize(m, prompt_text, strlen(prompt_text), true, false, &ids, &n, &err), &err);
    CHECK_OK(rn_ngram_cache_add_text(c, ids, n, 2, 4, &err), &err);
    rn_free(ids);
    for (int i = 0; i < 3; i++) // often enough to be believed
        CHECK_OK(rn_ngram_cache_add_text(c, o->tokens, o->n_tokens, 2, 4, &err), &err);
    const bool ok = CHECK_OK(rn_ngram_cache_write(c, path, &err), &err);
    rn_ngram_cache_close(c);
    return ok;
}

TEST(a_file_of_similar_texts_saves_steps_and_changes_nothing) {
    static struct outcome plain, alone, guided;
    const rn_part part = {.kind = RN_PART_TEXT, .text = prompt_text, .n_text = strlen(prompt_text)};
    char path[600];
    struct fixture f;
    rn_error err = {0};
    rn_engine_options o = engine_options();
    o.n_ctx = 256;
    snprintf(path, sizeof path, "%s/ngrams.bin", temp_dir());
    if (!fixture_open(&f, &o) || !run_greedy(f.engine, &part, "none", 0, &plain)) return;
    if (!run_greedy(f.engine, &part, "ngram-cache", 0, &alone) || !make_cache(f.model, &plain, path)) return;
    check_same(&alone, &plain);
    CHECK_FAILS(rn_model_add_ngram_cache(f.model, path, &err), RN_E_STATE, &err);
    CHECK_HAS(err.text, "an engine has been opened with the model");
    fixture_close(&f);
    if (!CHECK_OK(rn_model_open(stories(), NULL, &f.model, &err), &err) ||
        !CHECK_OK(rn_model_add_ngram_cache(f.model, path, &err), &err) ||
        !CHECK_OK(rn_engine_open(&f.model, 1, &o, &f.engine, &err), &err) ||
        !run_greedy(f.engine, &part, "ngram-cache", 0, &guided))
        return;
    check_same(&guided, &plain);
    check_note("%d right alone, %d with the file", (int)alone.usage.accepted_tokens,
               (int)guided.usage.accepted_tokens);
    CHECK(guided.usage.accepted_tokens > 60 && alone.usage.accepted_tokens < 40);
    fixture_close(&f);
}

// With strict thresholds an answer alone is not believed.
TEST(finished_answers_are_counted_for_their_client) {
    static const struct {
        uint64_t client;
        bool sees;
        const char *why;
    } rows[] = {{6, false, "nothing was answered before"},
                {6, false, "one answer is too little"},
                {6, true, "two answers"},
                {5, false, "another client"},
                {6, true, "and once more"}};
    static const int32_t ids[] = {9, 8, 7};
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 3};
    static struct outcome plain, o;
    struct toy_rig g;
    int64_t alone = 0;
    if (!toy_rig_open(&g, 64, 0, 1, 1) || !run_greedy(g.engine, &part, "none", 6, &plain)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("%s", rows[i].why);
        if (!run_greedy(g.engine, &part, "ngram-cache", rows[i].client, &o)) break;
        check_same(&o, &plain);
        if (i == 0) alone = o.usage.accepted_tokens;
        if (rows[i].sees)
            CHECK(o.usage.accepted_tokens > alone + 30);
        else
            CHECK_INT(o.usage.accepted_tokens, alone);
    }
    toy_rig_close(&g);
}
