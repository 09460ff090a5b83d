// tests/engine/same_bits_test.c - the central promise (docs/design.md section 6; field.md 2.16): the text depends on the model, the
// request and the KV type, and on nothing else.
#include "fixture.h"

enum { N_REQUESTS = 4 };

static rn_request request_at(int i) {
    static const char long_one[] =
        "Tom and his dog went to the park. They saw a big tree. In the tree was a cat. The cat was sad, because it could not come "
        "down. Tom said to the cat: wait, I will help you! He looked for a ladder and found one behind the house. Then he climbed";
    static const char *const prompts[] = {"Once upon a time", "One day, a little bird found a shiny key", long_one,
                                          "Lily"};
    rn_request r = text_request(prompts[i]);
    sampling_of(&r)->temp = i % 2 ? 0.8f : 0.0f;
    r.logprobs = 0;
    r.ignore_eos = true;
    return r;
}

// layers: early ones that the model is opened with; NULL: none.
static bool outcomes_with(const rn_engine_options *o, const char *layers, struct outcome *out) {
    struct fixture f = {0};
    rn_error err = {0};
    bool ok = CHECK_OK(rn_model_open(stories(), NULL, &f.model, &err), &err) &&
              (!layers || CHECK_OK(rn_model_add_early_layers(f.model, layers, &err), &err)) &&
              CHECK_OK(rn_engine_open(&f.model, 1, o, &f.engine, &err), &err);
    for (int i = 0; i < N_REQUESTS && ok; i++) {
        const rn_request r = request_at(i);
        ok = run_request(f.engine, &r, &out[i]);
    }
    fixture_close(&f);
    return ok;
}

static bool outcomes_of(const rn_engine_options *o, struct outcome *out) { return outcomes_with(o, NULL, out); }

static const struct outcome *reference(void) {
    static struct outcome ref[N_REQUESTS];
    static bool done;
    const rn_engine_options o = engine_options();
    if (!done) done = outcomes_of(&o, ref);
    return ref;
}

static void compare(const struct outcome *got, const char *what) {
    for (int i = 0; i < N_REQUESTS; i++) {
        check_note("%s, request %d", what, i);
        if (!same_outcome(&got[i], &reference()[i])) return;
    }
}

static void check_same(const rn_engine_options *o, const char *what) {
    static struct outcome got[N_REQUESTS];
    if (outcomes_of(o, got)) compare(got, what);
}

TEST(field_2_16_threads_do_not_change_the_text) {
    static const int counts[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++) {
        rn_engine_options o = engine_options();
        char what[32];
        o.n_threads = counts[i];
        snprintf(what, sizeof what, "%d threads", counts[i]);
        check_same(&o, what);
    }
}

TEST(field_2_16_cpu_sets_do_not_change_the_text) {
    static const char *const sets[] = {"ref", "avx2"};
    for (size_t i = 0; i < 2; i++) {
        rn_engine_options o = engine_options();
        rn_error err = {0};
        struct fixture f;
        o.cpu = sets[i];
        if (!CHECK_OK(rn_model_open(stories(), NULL, &f.model, &err), &err)) return;
        const rn_status st = rn_engine_open(&f.model, 1, &o, &f.engine, &err);
        fixture_close(&f);
        if (st == RN_E_UNSUPPORTED) {
            test_skip("this machine lacks %s", sets[i]);
            continue;
        }
        check_same(&o, sets[i]);
    }
}

TEST(field_2_16_prompt_chunks_do_not_change_the_text) {
    static const int sizes[] = {1, 2, 7, 16, 63, 64, 65};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rn_engine_options o = engine_options();
        char what[32];
        o.n_batch = sizes[i];
        snprintf(what, sizeof what, "steps of %d rows", sizes[i]);
        check_same(&o, what);
    }
}

// Also in steps that have no row whose results are wanted.
TEST(early_layers_that_can_be_read_do_not_change_the_text) {
    static struct outcome got[N_REQUESTS];
    static const char *const layers[] = {"0", "5", "0,1,2,3,4,5"};
    for (size_t i = 0; i < 3; i++) {
        rn_engine_options o = engine_options();
        o.n_batch = 7, o.n_threads = 1 + (int)i % 2;
        if (outcomes_with(&o, layers[i], got)) compare(got, layers[i]);
    }
}

TEST(field_2_16_a_cached_prefix_does_not_change_the_text) {
    struct fixture f;
    struct outcome o;
    rn_engine_options opt = engine_options();
    opt.n_streams = 4; // room for what is cached
    if (!fixture_open(&f, &opt)) return;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < N_REQUESTS; i++) {
            const rn_request r = request_at(i);
            if (!run_request(f.engine, &r, &o)) goto out;
            check_note("round %d, request %d", round, i);
            same_outcome(&o, &reference()[i]);
            CHECK_INT(o.usage.cached_tokens, round ? o.usage.prompt_tokens - 1 : o.usage.cached_tokens);
        }
out:
    fixture_close(&f);
}

static void run_together(const rn_engine_options *opt, int n, const char *what, bool pause) {
    struct fixture f;
    rn_error err = {0};
    rn_stream **s = calloc((size_t)n, sizeof *s);
    if (!fixture_open(&f, opt)) return;
    for (int i = 0; i < n; i++) {
        const rn_request r = request_at(i % N_REQUESTS);
        if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s[i], &err), &err)) goto out;
        if (pause && i % 3 == 1) rn_stream_pause(s[i]);
    }
    if (pause)
        for (int i = 0; i < n; i++) {
            if (i % 3 == 1) continue;
            rn_chunk c = new_chunk();
            rn_stream_next(s[i], -1, &c, &err); // something runs while others pause
            if (i % 3 == 0) rn_stream_pause(s[i]);
            struct outcome o = {0};
            outcome_add(&o, &c);
            if (i % 3 == 0) rn_stream_resume(s[i]);
            drain(s[i], &o);
            check_note("%s, stream %d", what, i);
            same_outcome(&o, &reference()[i % N_REQUESTS]);
        }
    for (int i = 0; i < n; i++) {
        struct outcome o = {0};
        if (pause && i % 3 != 1) continue;
        rn_stream_resume(s[i]);
        if (!drain(s[i], &o)) break;
        check_note("%s, stream %d", what, i);
        if (!same_outcome(&o, &reference()[i % N_REQUESTS])) break;
    }
out:
    for (int i = 0; i < n; i++) rn_stream_close(s[i]);
    fixture_close(&f);
    free(s);
}

TEST(field_2_16_batch_mates_do_not_change_the_text) {
    rn_engine_options o = engine_options();
    o.n_streams = 8;
    o.n_threads = 2;
    run_together(&o, 24, "8 at a time", false);
}

// Under TSan a step takes some fifty times as long. What it looks for is there in every step of a few streams; that the bits are the
// same is seen without it.
#ifdef TESTS_UNDER_TSAN
enum { CROWD = 12 };
#else
enum { CROWD = 200 };
#endif

TEST(a_crowd_of_streams_each_equals_itself_alone) {
    rn_engine_options o = engine_options();
    o.n_streams = CROWD;
    o.n_queue = 10;
    o.n_threads = 2;
    run_together(&o, CROWD, "all at a time", false);
}

TEST(field_2_16_pausing_and_resuming_does_not_change_the_text) {
    rn_engine_options o = engine_options();
    o.n_streams = 6;
    run_together(&o, 6, "paused", true);
}

TEST(a_small_kv_budget_with_evictions_and_preemptions_does_not_change_the_text) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s[8];
    rn_engine_options o = engine_options();
    o.n_streams = 8;
    o.n_ctx = 192;
    o.n_kv = 192; // pages for the longest one, and two for each stream
    if (!fixture_open(&f, &o)) return;
    struct outcome alone[8];
    rn_request r[8];
    for (int i = 0; i < 8; i++) {
        r[i] = request_at(i % N_REQUESTS);
        r[i].max_tokens = 120;
        r[i].seed = (uint64_t)i;
        if (!run_request(f.engine, &r[i], &alone[i])) goto out;
    }
    for (int i = 0; i < 8; i++)
        if (!CHECK_OK(rn_stream_begin(f.engine, &r[i], &s[i], &err), &err)) goto out;
    for (int i = 0; i < 8; i++) {
        struct outcome got = {0};
        drain(s[i], &got);
        check_note("stream %d", i);
        same_outcome(&got, &alone[i]);
    }
    for (int i = 0; i < 8; i++) rn_stream_close(s[i]);
    rn_engine_stats stats = {sizeof stats};
    rn_engine_get_stats(f.engine, &stats, NULL);
    CHECK(stats.n_preempted > 0);
    CHECK(stats.n_evicted_pages > 0);
out:
    fixture_close(&f);
}
