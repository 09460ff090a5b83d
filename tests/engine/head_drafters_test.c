// tests/engine/head_drafters_test.c - streams whose guesses come from draft heads, or from a model of the same or of another vocabulary, have the
// tokens, the log-probabilities and the end of those without, for each kind of memory that a model has, in batches that preempt each other, in sessions,
// with whatever else requests say.
#include "base/philox.h"
#include "saved_rig.h"
#include "tally.h"
#include "tests/support/draft_heads.h"

enum { N_STREAMS = 6, N_CTX = 128, N_VOCAB = 280, MOST_TURNS = 2 };

// ---- models with heads ----------------------------------------------------------------------------------------------

static const struct heads {
    const char *name; // of the drafter
    rn_draft_head kind;
    bool attends; // and so needs a model that does
    bool is_3;    // EAGLE-3's, with a vocabulary of its own
    bool stack;   // three next-token layers that stand on each other
    enum {
        OF_HEADS,
        OF_MODEL,
        OF_OTHER_WORDS
    } by; // of a model: the subject's copy, or one whose tokens have other numbers
} all_heads[] = {{"medusa", RN_DRAFT_HEAD_MEDUSA, false},
                 {"eagle", RN_DRAFT_HEAD_EAGLE, true},
                 {"mtp", RN_DRAFT_HEAD_MTP, true},
                 {"layer-skip", RN_DRAFT_HEAD_LAYERS, false},
                 {"draft", .by = OF_MODEL},
                 {"draft", .by = OF_OTHER_WORDS}};
static const struct heads eagle3 = {"eagle", RN_DRAFT_HEAD_EAGLE, true, .is_3 = true};
static const struct heads stack = {"mtp", RN_DRAFT_HEAD_MTP, true, .stack = true};
enum { N_HEADS = sizeof all_heads / sizeof *all_heads };

static uint8_t *heads_bytes(const package *pkg, const struct heads *h, size_t *n) {
    if (h->is_3) return made_eagle3(pkg, 1, n);
    return h->kind == RN_DRAFT_HEAD_MEDUSA ? made_medusa(pkg, 4, 1, n) : made_eagle(pkg, true, 1, n);
}

static bool add_heads(rn_model *m, const char *model_path, const struct heads *h) {
    package *pkg;
    rn_error err = {0};
    size_t n;
    if (h->by != OF_HEADS) return true;
    if (h->kind == RN_DRAFT_HEAD_LAYERS) return CHECK_OK(rn_model_add_draft_heads(m, h->kind, "1", &err), &err);
    if (h->kind == RN_DRAFT_HEAD_MTP) return CHECK_OK(rn_model_add_draft_heads(m, h->kind, NULL, &err), &err);
    if (!CHECK_OK(package_open(model_path, NULL, &pkg, &err), &err)) return false;
    uint8_t *const bytes = heads_bytes(pkg, h, &n);
    const char *const path = saved_path("heads.safetensors");
    const bool ok =
        CHECK(write_file(path, bytes, n)) && CHECK_OK(rn_model_add_draft_heads(m, h->kind, path, &err), &err);
    free(bytes);
    package_close(pkg);
    return ok;
}

static rn_engine_options options(void) {
    rn_engine_options o = engine_options();
    o.n_ctx = N_CTX, o.n_kv = N_CTX, o.n_streams = N_STREAMS, o.n_batch = 40;
    return o;
}

// Like Medusa heads of these tests, the model holds only the first tokens likely: guesses of heads that share its output matrix are right now and then.
static void make_some_likely(uint8_t *bytes, size_t n) {
    package *pkg;
    rn_error err = {0};
    if (!CHECK_OK(package_from_bytes("subject", bytes, n, &pkg, &err), &err)) return;
    const struct tensor_view *const head = package_tensor(pkg, "output.weight");
    const size_t kept = head ? MADE_LIKELY * head->row_bytes : 0;
    if (head) memset(bytes + (head->data - bytes) + kept, 0, head->n_bytes - kept);
    package_close(pkg);
}

// Gives two letters each other's number.
static void swap_letters(uint8_t *bytes, size_t n) {
    package *pkg;
    rn_error err = {0};
    if (!CHECK_OK(package_from_bytes("subject", bytes, n, &pkg, &err), &err)) return;
    const struct vocab_token *const tokens = package_vocab(pkg)->tokens;
    const uintptr_t at = (uintptr_t)bytes;
    uint8_t *const y = bytes + ((uintptr_t)tokens['y'].text.s - at), *const z =
                                                                         bytes + ((uintptr_t)tokens['z'].text.s - at);
    CHECK(*y == 'y' && *z == 'z');
    *y = 'z', *z = 'y';
    package_close(pkg);
}

static void nextn_1(struct gguf_builder *b) { made_nextn(b, 1); }
static void nextn_3(struct gguf_builder *b) { made_nextn(b, 3); }
static void nextn_5(struct gguf_builder *b) { made_nextn(b, 5); }
static void nextn_2_to_4(struct gguf_builder *b) {
    for (int i = 2; i <= 4; i++) made_nextn(b, i);
}

static void make_last_layer_nextn(struct arch_model *m) {
    static void (*const more[])(struct gguf_builder *) = {[2] = nextn_1, [4] = nextn_3, [6] = nextn_5}; // by layers
    m->change = "nextn_predict_layers=1";
    m->more = more[atoi(strstr(m->keys, "block_count=") + strlen("block_count="))];
}

static rn_model *drafting; // where a model drafts
static rn_grammar *form;   // that some requests have

static bool compile_form(const rn_model *m) {
    rn_grammar_source s;
    rn_error err = {0};
    rn_grammar_source_init(&s);
    s.kind = RN_GRAMMAR_REGEX, s.text = "[\\x00-\\x7f]*([a-e]{3,9})[\\x00-\\x7f]*", s.n_text = strlen(s.text);
    return CHECK_OK(rn_grammar_compile(m, &s, &form, &err), &err);
}

static void close_subject(struct fixture *f) {
    rn_grammar_close(form);
    form = NULL;
    fixture_close(f);
    rn_model_close(drafting);
    drafting = NULL;
}

static bool open_engine(struct fixture *f, uint8_t *bytes, size_t n, const struct heads *h) {
    rn_engine_options o = options();
    rn_error err = {0};
    const char *const path = saved_path("drafts.gguf");
    if (h->by == OF_OTHER_WORDS) swap_letters(bytes, n);
    o.draft_model = h->by != OF_HEADS;
    if (h->by != OF_HEADS &&
        (!CHECK(write_file(path, bytes, n)) || !CHECK_OK(rn_model_open(path, NULL, &drafting, &err), &err)))
        return false;
    rn_model *const models[] = {f->model, drafting};
    return CHECK_OK(rn_engine_open(models, drafting ? 2 : 1, &o, &f->engine, &err), &err);
}

static bool open_subject(struct fixture *f, const struct arch_model *m, const struct heads *h) {
    struct arch_model with_words = *m;
    rn_error err = {0};
    size_t n;
    with_words.has_vocab = true, with_words.n_vocab = N_VOCAB;
    if (h->stack)
        with_words.change = "nextn_predict_layers=3", with_words.more = nextn_2_to_4;
    else if (h->kind == RN_DRAFT_HEAD_MTP)
        make_last_layer_nextn(&with_words);
    uint8_t *const bytes = arch_model_bytes(&with_words, &n);
    make_some_likely(bytes, n);
    const char *const path = saved_path("subject.gguf");
    *f = (struct fixture){0};
    const bool ok = CHECK(write_file(path, bytes, n)) && CHECK_OK(rn_model_open(path, NULL, &f->model, &err), &err) &&
                    add_heads(f->model, path, h) && open_engine(f, bytes, n, h) && compile_form(f->model);
    free(bytes);
    return ok;
}

// ---- requests -------------------------------------------------------------------------------------------------------

struct random {
    uint64_t seed;
    uint32_t n;
};
static int32_t below(struct random *r, int32_t n) {
    return (int32_t)(philox_uniform(r->seed, 0, r->n++, PHILOX_TEST) * n);
}

// What a turn says; the same for the same seed.
struct turn {
    int32_t ids[64], stop;
    char drafters[40];
    rn_part part, negative, prediction;
    rn_sampling sampling;
    rn_logit_bias bias[4];
    const char *banned[2];
    rn_request r;
};

static bool may_guide; // no state is planned for the second sequence

// The drafter, alone or beside others in both orders, and text that the answer may repeat: the prompt's.
static void name_drafters(struct turn *t, struct random *r, const char *drafter) {
    static const struct {
        const char *before, *behind;
        bool reads; // a prediction
    } lists[] = {{"", ""},
                 {"", ""},
                 {"", ""},
                 {"ngram,", "", true},
                 {"", ",suffix", true},
                 {"ngram-cache,", ""},
                 {"suffix,", "", true}};
    const int32_t i = below(r, sizeof lists / sizeof *lists), predicts = below(r, 2);
    const bool none = strcmp(drafter, "none") == 0;
    snprintf(t->drafters, sizeof t->drafters, "%s%s%s", none ? "" : lists[i].before, drafter,
             none ? "" : lists[i].behind);
    t->r.speculate = t->drafters;
    t->prediction = (rn_part){.kind = RN_PART_IDS, .ids = t->ids, .n_ids = 64};
    if (!none && lists[i].reads && predicts) t->r.prediction = &t->prediction, t->r.n_prediction = 1;
}

static void make_turn(struct turn *t, struct random *r, const char *drafter) {
    rn_request_init(&t->r);
    rn_sampling_init(&t->sampling);
    const int32_t n_ids = 1 + below(r, 64), n_words = 2 + below(r, 3);
    for (int32_t i = 0; i < 64; i++) t->ids[i] = below(r, N_VOCAB);
    for (int32_t i = 0; i < n_words; i++) t->bias[i] = (rn_logit_bias){below(r, MADE_LIKELY), 12};
    t->part = (rn_part){.kind = RN_PART_IDS, .ids = t->ids, .n_ids = (size_t)n_ids};
    if (below(r, 3)) t->sampling.logit_bias = t->bias, t->sampling.n_logit_bias = (size_t)n_words;
    t->sampling.temp = below(r, 3) ? 1.0F : 0.0F;
    t->sampling.top_k = below(r, 2) ? 0 : 5;
    t->sampling.repeat_penalty = below(r, 3) ? 1.0F : 1.3F;
    t->sampling.min_p = 0;
    t->banned[0] = "a", t->banned[1] = "bc";
    if (below(r, 4) == 0) t->r.banned_strings = t->banned, t->r.n_banned_strings = 2;
    t->stop = t->bias[0].token;
    if (below(r, 6) == 0) t->r.stop_tokens = &t->stop, t->r.n_stop_tokens = 1;
    t->r.parts = &t->part, t->r.n_parts = 1, t->r.sampling = &t->sampling;
    t->r.add_special = false, t->r.ignore_eos = below(r, 2) != 0;
    t->r.has_seed = true, t->r.seed = (uint64_t)below(r, 1000);
    t->r.max_tokens = below(r, 3) ? 100 : 1 + below(r, 40); // also to the end of the context
    t->r.logprobs = below(r, 2) ? 0 : -1;
    t->r.draft_max = below(r, 12);
    t->r.draft_min = below(r, 4) ? t->r.draft_max : 0;
    name_drafters(t, r, drafter);
    if (below(r, 5) == 0) t->r.grammar = form;
    if (below(r, 5) == 0 && may_guide) { // the second sequence has all of the context's pages at most, too
        t->negative = (rn_part){.kind = RN_PART_IDS, .ids = t->ids + 1, .n_ids = (size_t)(1 + below(r, 20))};
        t->r.guidance_scale = 1.5F, t->r.negative_prompt = &t->negative, t->r.n_negative_prompt = 1;
        t->part.n_ids = (size_t)(1 + below(r, 20));
    }
    if (below(r, 6) == 0) t->sampling.mirostat = 2;
    if (below(r, 6) == 0) t->r.sampled_logprobs = 3;
    // At temperature 0 all three give the same tokens.
    if (t->sampling.temp == 0 && !t->sampling.mirostat) t->r.spec_verify = (rn_verify)below(r, 3);
}

// The turns of a session, without guesses or with.
static bool run_session(const struct fixture *f, uint64_t seed, struct outcome *out) {
    struct random r = {.seed = seed};
    rn_session *const session = new_session(f);
    bool ok = session != NULL;
    for (int i = 0; ok && i < MOST_TURNS; i++) {
        static struct turn t;
        make_turn(&t, &r, "none");
        t.part.n_ids = t.part.n_ids < 20 ? t.part.n_ids : 20;
        t.r.max_tokens = t.r.max_tokens < 30 ? t.r.max_tokens : 30;
        t.r.session = session;
        ok = run_request(f->engine, &t.r, &out[i]);
    }
    rn_session_close(session);
    return ok;
}

static void compare_sessions(const struct fixture *f, uint64_t seed, const char *drafter) {
    static struct outcome want[MOST_TURNS], got[N_STREAMS][MOST_TURNS];
    static struct turn t[N_STREAMS];
    struct random r[N_STREAMS];
    rn_session *sessions[N_STREAMS];
    rn_stream *streams[N_STREAMS] = {0};
    rn_error err = {0};
    for (int k = 0; k < N_STREAMS; k++)
        r[k] = (struct random){.seed = seed + (uint64_t)k}, sessions[k] = new_session(f);
    for (int i = 0; i < MOST_TURNS; i++) { // all sessions at once
        for (int k = 0; k < N_STREAMS; k++) {
            make_turn(&t[k], &r[k], drafter);
            t[k].part.n_ids = t[k].part.n_ids < 20 ? t[k].part.n_ids : 20;
            t[k].r.max_tokens = t[k].r.max_tokens < 30 ? t[k].r.max_tokens : 30;
            t[k].r.session = sessions[k];
            got[k][i] = (struct outcome){0};
            CHECK_OK(rn_stream_begin(f->engine, &t[k].r, &streams[k], &err), &err);
        }
        for (int k = 0; k < N_STREAMS; k++) {
            if (streams[k]) drain(streams[k], &got[k][i]);
            rn_stream_close(streams[k]);
        }
    }
    for (int k = 0; k < N_STREAMS; k++) rn_session_close(sessions[k]);
    for (int k = 0; k < N_STREAMS; k++) {
        check_note("%s, session %d", drafter, (int)seed + k);
        if (!run_session(f, seed + (uint64_t)k, want)) return;
        for (int i = 0; i < MOST_TURNS; i++) same_outcome(&got[k][i], &want[i]);
    }
}

struct sums {
    int64_t n_drafted, n_accepted;
};

// Streams in one batch against each alone, without guesses.
static void compare_batch(const struct fixture *f, uint64_t seed, const char *drafter, struct sums *sums) {
    static struct outcome want, got[N_STREAMS];
    static struct turn t[N_STREAMS];
    rn_stream *streams[N_STREAMS] = {0};
    rn_error err = {0};
    for (int k = 0; k < N_STREAMS; k++) {
        struct random r = {.seed = seed + (uint64_t)k};
        make_turn(&t[k], &r, drafter);
        got[k] = (struct outcome){0};
        CHECK_OK(rn_stream_begin(f->engine, &t[k].r, &streams[k], &err), &err);
        rn_stream_pause(streams[k]);
    }
    for (int k = 0; k < N_STREAMS; k++) rn_stream_resume(streams[k]); // all in one batch
    for (int k = 0; k < N_STREAMS; k++) {
        if (streams[k]) drain(streams[k], &got[k]);
        rn_stream_close(streams[k]);
        sums->n_drafted += got[k].usage.drafted_tokens, sums->n_accepted += got[k].usage.accepted_tokens;
    }
    for (int k = 0; k < N_STREAMS; k++) {
        check_note("%s, seed %d", t[k].r.speculate, (int)seed + k);
        t[k].r.speculate = "none", t[k].r.n_prediction = 0;
        if (run_request(f->engine, &t[k].r, &want)) same_outcome(&got[k], &want);
    }
}

// Returns how many streams were preempted, which on a busy machine may be none of one subject's.
static int64_t compare_subject(const struct saved_subject *of, const struct heads *h) {
    struct fixture f;
    struct sums sums = {0};
    rn_engine_stats stats = {.struct_size = sizeof stats};
    check_note("%s: %s, %d", of->why, h->name, (int)h->by);
    may_guide = strncmp(of->why, "states", 6) != 0;
    if (open_subject(&f, &of->m, h)) {
        for (uint64_t seed = 1; seed <= 60; seed += N_STREAMS) compare_batch(&f, seed, h->name, &sums);
        for (uint64_t seed = 1; seed <= 12; seed += N_STREAMS) compare_sessions(&f, seed, h->name);
        rn_engine_get_stats(f.engine, &stats, NULL);
        check_note("%s: %s: %lld guesses, %lld right, %lld preempted", of->why, h->name, (long long)sums.n_drafted,
                   (long long)sums.n_accepted, (long long)stats.n_preempted);
        CHECK(sums.n_drafted > 500 && sums.n_accepted > 20 && sums.n_accepted < sums.n_drafted);
    }
    close_subject(&f);
    return (int64_t)stats.n_preempted;
}

// EAGLE-3 reads three layers, and so needs some.
TEST(guesses_of_an_eagle_3_head_change_nothing_but_the_number_of_steps) {
    static const struct saved_subject deep = {
        "ten layers",
        false,
        {"llama", "block_count=10 attention.head_count_kv=2 " SAVED_NUMBERS, SAVED_VOCAB, TENSOR_F32, .seed = 3}};
    (void)compare_subject(&deep, &eagle3);
}

TEST(guesses_of_layers_that_stand_on_each_other_change_nothing_but_the_number_of_steps) {
    static const struct saved_subject five = {
        "two layers and three for next tokens",
        false,
        {"llama", "block_count=5 attention.head_count_kv=2 " SAVED_NUMBERS, SAVED_VOCAB, TENSOR_F32, .seed = 3}};
    (void)compare_subject(&five, &stack);
}

TEST(guesses_of_heads_and_models_change_nothing_but_the_number_of_steps) {
    int64_t n_preempted = 0;
    for (size_t k = 0; k < N_HEADS; k++)
        for (size_t i = 0; i < N_SAVED_SUBJECTS; i++)
            if (!all_heads[k].attends || strcmp(saved_subjects[i].why, "states alone") != 0)
                n_preempted += compare_subject(&saved_subjects[i], &all_heads[k]);
    CHECK(n_preempted > 0);
}

// ---- verification by chance -----------------------------------------------------------------------------------------

#if defined(TESTS_SANITIZED)
enum { N_RUNS = 60 };
#else
enum { N_RUNS = 800 };
#endif

// Three tokens may follow. Returns how many guesses were right.
static int64_t tally_runs(const struct fixture *f, const char *drafter, bool guided, struct tally *t) {
    static const int32_t ids[] = {1, 2, 0, 1, 2, 0, 1};
    static struct outcome o;
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 7},
                  negative = {RN_PART_IDS, .ids = ids, .n_ids = 2};
    const rn_logit_bias bias[] = {{0, 40}, {1, 40}, {2, 40}};
    const bool drafts = strcmp(drafter, "none") != 0;
    int64_t n_accepted = 0;
    for (uint64_t run = 1; run <= N_RUNS; run++) {
        rn_sampling sampling;
        rn_request r;
        rn_request_init(&r);
        rn_sampling_init(&sampling);
        sampling.logit_bias = bias, sampling.n_logit_bias = 3;
        sampling.temp = 1, sampling.top_k = 0, sampling.top_p = 1, sampling.min_p = 0;
        r.parts = &part, r.n_parts = 1, r.sampling = &sampling, r.add_special = false, r.ignore_eos = true;
        r.has_seed = true, r.seed = run + (drafts ? N_RUNS : 0), r.max_tokens = N_DRAWN + 2;
        if (guided) r.guidance_scale = 1.5F, r.negative_prompt = &negative, r.n_negative_prompt = 1;
        r.speculate = drafter;
        if (drafts) r.draft_min = r.draft_max = 6, r.spec_verify = RN_VERIFY_REJECT;
        if (!run_request(f->engine, &r, &o)) break;
        tally_add(t, drafts, &o);
        n_accepted += o.usage.accepted_tokens;
    }
    return n_accepted;
}

TEST(with_rejection_texts_come_as_often_as_without_the_guesses_of_each_drafter) {
    for (size_t k = 0; k < N_HEADS; k++) {
        struct fixture f;
        const bool is_open = open_subject(&f, &saved_subjects[0].m, &all_heads[k]);
        for (int guided = 0; is_open && guided < 2; guided++) {
            static struct tally t;
            int freedom;
            t = (struct tally){.n_cells = 0};
            tally_runs(&f, "none", guided, &t);
            const int64_t n_accepted = tally_runs(&f, all_heads[k].name, guided, &t);
            const double square = chi_square(&t, &freedom);
            check_note("%s, %d%s: %d texts, %.1f of %d degrees of freedom, %d right", all_heads[k].name,
                       (int)all_heads[k].by, guided ? ", guided" : "", t.n_cells, square, freedom, (int)n_accepted);
            CHECK(freedom >= (N_RUNS > 100 ? 3 : 1) && is_of_one_law(square, freedom));
            CHECK(n_accepted > N_RUNS / 50);
        }
        close_subject(&f);
    }
}

// ---- allocations ----------------------------------------------------------------------------------------------------

static const struct heads *kind_of_allocations;

static rn_status run_drafted(void *user) {
    struct random r = {.seed = 5};
    static struct turn t;
    rn_engine *const e = ((const struct fixture *)user)->engine;
    rn_stream *s;
    rn_error err = {0};
    rn_chunk c = new_chunk();
    make_turn(&t, &r, kind_of_allocations->name);
    t.r.max_tokens = 6, t.r.draft_min = t.r.draft_max;
    rn_status st = rn_stream_begin(e, &t.r, &s, &err);
    if (st != RN_OK) return st;
    while (c.finish_reason == RN_FINISH_NONE && st == RN_OK) st = rn_stream_next(s, 60000000000, &c, &err);
    if (st == RN_OK && c.finish_reason == RN_FINISH_ERROR) st = c.error;
    rn_stream_close(s);
    return st;
}

TEST(every_failed_allocation_of_a_stream_with_heads_is_reported_and_leaks_nothing) {
    for (size_t k = 0; k < N_HEADS; k++) {
        struct fixture f;
        kind_of_allocations = &all_heads[k];
        if (open_subject(&f, &saved_subjects[0].m, kind_of_allocations))
            check_each_failed_allocation(run_drafted, &f, __FILE__, __LINE__);
        close_subject(&f);
    }
}

// ---- heads that were trained for the default model ------------------------------------------------------------------

TEST(trained_heads_save_steps_and_leave_the_text_as_it_is) {
    static const struct {
        const char *name, *file;
        rn_draft_head kind;
        double tokens_per_step; // at least
    } cases[] = {{"medusa", "models/stories/medusa", RN_DRAFT_HEAD_MEDUSA, 1.3},
                 {"eagle", "models/stories/eagle", RN_DRAFT_HEAD_EAGLE, 2.2}};
    static struct outcome want, got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const path = shared_path(cases[i].file);
        rn_model *m = NULL;
        rn_engine *e = NULL;
        rn_error err = {0};
        const rn_engine_options o = engine_options();
        if (!path) return; // skipped
        rn_request r = text_request("Once upon a time, there was a little girl named Lily.");
        r.max_tokens = 120, r.logprobs = 0;
        check_note("%s", cases[i].name);
        if (CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err) &&
            CHECK_OK(rn_model_add_draft_heads(m, cases[i].kind, path, &err), &err) &&
            CHECK_OK(rn_engine_open(&m, 1, &o, &e, &err), &err) && run_request(e, &r, &want)) {
            r.speculate = cases[i].name, r.draft_max = r.draft_min = 12;
            if (run_request(e, &r, &got)) same_outcome(&got, &want);
            const double n = (double)got.n_tokens, per_step = n / (n - (double)got.usage.accepted_tokens);
            check_note("%s: %.2f tokens per step", cases[i].name, per_step);
            CHECK(per_step > cases[i].tokens_per_step);
        }
        rn_engine_close(e);
        rn_model_close(m);
    }
}
