// tests/engine/prompt_scores_test.c - log-probabilities of prompts: the same numbers that a generation gives; and salted prefixes.
#include "fixture.h"
#include <math.h>

enum { N_TEXT = 45 };

struct scored {
    struct outcome o;
    rn_token tokens[N_TEXT * 2];
    rn_top top[N_TEXT * 2][20];
    size_t n, at_chunk; // at_chunk: which chunk brought them
    size_t n_text;      // of that chunk
    size_t n_tokens_before;
};

static bool run_scored(rn_engine *e, const rn_request *r, struct scored *s) {
    rn_error err = {0};
    rn_stream *stream;
    *s = (struct scored){0};
    if (!CHECK_OK(rn_stream_begin(e, r, &stream, &err), &err)) return false;
    while (s->o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(stream, 60000000000, &c, &err), &err)) return false;
        if (c.prompt_data) {
            CHECK_INT(s->n, 0); // once only
            s->n = c.n_prompt_data;
            s->at_chunk = s->o.n_chunks;
            s->n_text = c.n_text;
            s->n_tokens_before = s->o.n_tokens;
            for (size_t i = 0; i < s->n && i < N_TEXT * 2; i++) {
                s->tokens[i] = c.prompt_data[i];
                for (int32_t k = 0; k < c.prompt_data[i].n_top; k++) s->top[i][k] = c.prompt_data[i].top[k];
            }
        }
        outcome_add(&s->o, &c);
    }
    rn_stream_close(stream);
    return true;
}

// A prompt and what was generated after it, as ids; and the generation.
static bool make_text(struct fixture *f, int32_t ids[N_TEXT], struct outcome *o) {
    rn_error err = {0};
    int32_t *prompt;
    size_t n;
    rn_request r = text_request("Once upon a time");
    r.logprobs = 2;
    if (!run_request(f->engine, &r, o)) return false;
    if (!CHECK_OK(rn_tokenize(f->model, "Once upon a time", 16, true, false, &prompt, &n, &err), &err)) return false;
    CHECK_INT(n, 5);
    memcpy(ids, prompt, 5 * sizeof *ids);
    memcpy(ids + 5, o->tokens, 40 * sizeof *ids);
    rn_free(prompt);
    return true;
}

static rn_request ids_request(const rn_part *part) {
    rn_request r = text_request("");
    r.parts = part;
    r.max_tokens = 4;
    return r;
}

TEST(a_prompts_scores_are_those_that_its_generation_gave_for_every_chunking_and_cache) {
    static const int batches[] = {1, 7, 512};
    for (size_t b = 0; b < 3; b++) {
        struct fixture f;
        struct outcome o;
        struct scored first, again;
        int32_t ids[N_TEXT];
        rn_engine_options opt = engine_options();
        opt.n_batch = batches[b];
        if (!fixture_open(&f, &opt) || !make_text(&f, ids, &o)) return;
        const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = N_TEXT};
        rn_request r = ids_request(&part);
        struct outcome plain;
        run_request(f.engine, &r, &plain);
        r.prompt_logprobs = 3;
        run_scored(f.engine, &r, &first);
        run_scored(f.engine, &r, &again);
        check_note("steps of %d rows", batches[b]);
        CHECK_INT(first.n, N_TEXT);
        CHECK_INT(first.n_tokens_before, 0);
        CHECK(isnan(first.tokens[0].logprob) && first.tokens[0].rank == 0 && first.tokens[0].n_top == 0);
        for (int i = 0; i < N_TEXT; i++) CHECK_INT(first.tokens[i].id, ids[i]);
        for (int i = 0; i < 40; i++) {
            CHECK_MEM(&first.tokens[5 + i].logprob, &o.logprobs[i], sizeof(float));
            CHECK_INT(first.tokens[5 + i].rank, 1); // it was chosen for being the most probable
            CHECK_INT(first.top[5 + i][0].id, ids[5 + i]);
            CHECK_INT(first.tokens[5 + i].n_top, 3);
        }
        for (int i = 1; i < N_TEXT; i++) {
            CHECK_MEM(&first.tokens[i].logprob, &again.tokens[i].logprob, sizeof(float));
            CHECK_MEM(first.top[i], again.top[i], 3 * sizeof *first.top[i]);
            CHECK(first.tokens[i].rank >= 1 && (first.tokens[i].rank > 1 || first.top[i][0].id == ids[i]));
        }
        same_outcome(&first.o, &plain);
        same_outcome(&again.o, &plain);
        CHECK_INT(again.o.usage.cached_tokens, 0); // every row was wanted
        fixture_close(&f);
    }
}

TEST(a_text_is_scored_without_generating_anything) {
    struct fixture f;
    struct outcome o;
    struct scored s;
    int32_t ids[N_TEXT];
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !make_text(&f, ids, &o)) return;
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = N_TEXT};
    rn_request r = ids_request(&part);
    r.prompt_logprobs = 0;
    r.max_tokens = 0;
    run_scored(f.engine, &r, &s);
    CHECK_INT(s.n, N_TEXT);
    CHECK_INT(s.o.n_tokens, 0);
    CHECK_INT(s.o.finish, RN_FINISH_LENGTH);
    CHECK_INT(s.tokens[9].n_top, 0);
    CHECK_MEM(&s.tokens[9].logprob, &o.logprobs[4], sizeof(float));
    r.prompt_logprobs = 21;
    rn_stream *stream;
    rn_error err = {0};
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &stream, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "prompt_logprobs: 21 is outside -1..20");
    fixture_close(&f);
}

TEST(an_echo_comes_in_the_chunk_with_its_scores) {
    struct fixture f;
    struct scored s;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.prompt_logprobs = 1;
    r.echo = true;
    r.max_tokens = 3;
    if (!fixture_open(&f, &opt)) return;
    run_scored(f.engine, &r, &s);
    CHECK_INT(s.n, 5);
    CHECK_INT(s.at_chunk, 0);
    CHECK_INT(s.n_text, 16);
    CHECK(strncmp(s.o.text, "Once upon a time", 16) == 0);
    fixture_close(&f);
}

TEST(a_session_is_scored_from_its_beginning_and_goes_on_as_before) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session, *other;
    struct outcome plain;
    struct scored s;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err) ||
        !CHECK_OK(rn_session_open(f.engine, 0, &other, &err), &err))
        return;
    for (int turn = 0; turn < 3; turn++) {
        rn_request r = text_request(turn == 0 ? "Once upon a time" : " And then");
        r.max_tokens = 8;
        r.session = other;
        run_request(f.engine, &r, &plain);
        r.session = session;
        r.prompt_logprobs = turn == 1 ? 0 : -1;
        run_scored(f.engine, &r, &s);
        same_outcome(&s.o, &plain);
        CHECK_INT(s.n, turn == 1 ? plain.usage.prompt_tokens : 0);
    }
    rn_session_close(session);
    rn_session_close(other);
    fixture_close(&f);
}

TEST(a_reader_that_loses_the_oldest_chunks_still_gets_the_scores) {
    struct fixture f;
    struct scored s;
    rn_error err = {0};
    rn_stream *stream;
    rn_engine_stats st = {sizeof st};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.prompt_logprobs = 0;
    r.buffer_tokens = 4;
    r.overflow = RN_OVERFLOW_DROP_OLDEST;
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &stream, &err), &err)) return;
    do rn_engine_get_stats(f.engine, &st, NULL);
    while (st.n_running + st.n_queued);
    s = (struct scored){0};
    while (s.o.finish == RN_FINISH_NONE) {
        rn_chunk c = new_chunk();
        if (!CHECK_OK(rn_stream_next(stream, 60000000000, &c, &err), &err)) break;
        s.n += c.n_prompt_data;
        outcome_add(&s.o, &c);
    }
    CHECK(s.o.n_dropped > 0);
    CHECK_INT(s.n, 5);
    rn_stream_close(stream);
    fixture_close(&f);
}

// ---- prefixes -------------------------------------------------------------------------------------------------------

TEST(field_3_13_prefixes_are_shared_among_requests_of_one_salt_only) {
    struct fixture f;
    struct outcome first, o;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 70; // a page and more stays behind
    if (!fixture_open(&f, &opt)) return;
    run_request(f.engine, &r, &first);
    static const struct {
        uint64_t salt;
        int64_t cached;
    } runs[] = {{0, 4}, {1, 0}, {1, 4}, {2, 0}, {UINT64_MAX, 0}, {UINT64_MAX, 4}, {0, 4}, {2, 4}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        r.cache_salt = runs[i].salt;
        run_request(f.engine, &r, &o);
        check_note("run %zu", i);
        CHECK_INT(o.usage.cached_tokens, runs[i].cached);
        same_outcome(&o, &first);
    }
    fixture_close(&f);
}

TEST(field_3_13_a_session_goes_on_under_another_salt_with_nothing_cached) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session, *plain;
    struct outcome a, b;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err) ||
        !CHECK_OK(rn_session_open(f.engine, 0, &plain, &err), &err))
        return;
    static const uint64_t salts[] = {0, 5, 5};
    for (int turn = 0; turn < 3; turn++) {
        rn_request r = text_request(turn ? " And" : "Once upon a time");
        r.max_tokens = 8;
        r.session = plain;
        run_request(f.engine, &r, &a);
        r.session = session;
        r.cache_salt = salts[turn];
        run_request(f.engine, &r, &b);
        same_outcome(&a, &b);
        if (turn == 1) CHECK_INT(b.usage.cached_tokens, 0);
        if (turn == 2) CHECK(b.usage.cached_tokens > 10);
    }
    rn_session_close(session);
    rn_session_close(plain);
    fixture_close(&f);
}
