// tests/engine/control_test.c - cancelling, slow readers, queues, sessions, scores, several engines, faults.
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "fixture.h"
#include "tests/support/tiny_model.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <unistd.h>

static int64_t held_pages(rn_engine *e) {
    rn_engine_stats s = {sizeof s};
    rn_engine_get_stats(e, &s, NULL);
    return s.kv_pages - s.kv_pages_free - s.kv_pages_cached;
}

TEST(cancel_at_every_step_leaks_no_page_and_ends_once) {
    struct fixture f;
    rn_error err = {0};
    const rn_engine_options opt = engine_options();
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt)) return;
    for (int at = 0; at < 30; at++) {
        rn_stream *s;
        rn_chunk c = new_chunk();
        struct outcome o = {0};
        if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) break;
        for (int i = 0; i < at; i++)
            if (CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) outcome_add(&o, &c);
        rn_stream_cancel(s);
        drain(s, &o);
        check_note("cancelled after %d chunks", at);
        CHECK(o.finish == RN_FINISH_CANCELLED || (o.finish == RN_FINISH_LENGTH && o.n_tokens == 40));
        CHECK_INT(o.usage.completion_tokens, o.n_tokens);
        rn_stream_close(s);
        if (!CHECK_INT(held_pages(f.engine), 0)) break;
    }
    fixture_close(&f);
}

TEST(closing_a_stream_at_any_time_is_safe) {
    struct fixture f;
    rn_error err = {0};
    rn_engine_options opt = engine_options();
    opt.n_queue = 200;
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt)) return;
    rn_stream *s[100];
    for (int i = 0; i < 100; i++) CHECK_OK(rn_stream_begin(f.engine, &r, &s[i], &err), &err);
    for (int i = 99; i >= 0; i--) rn_stream_close(s[i]); // queued and running ones
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

TEST(a_full_queue_refuses_with_its_figures) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s[4] = {0};
    rn_engine_options opt = engine_options();
    opt.n_queue = 2;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = -1;
    r.buffer_tokens = 1; // they park, so none ends
    if (!fixture_open(&f, &opt)) return;
    for (int i = 0; i < 3; i++) CHECK_OK(rn_stream_begin(f.engine, &r, &s[i], &err), &err);
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &s[3], &err), RN_E_BUSY, &err);
    CHECK_HAS(err.text, "queue: full: 2 streams wait, limit 2");
    CHECK(err.retry_after_s >= 1);
    rn_engine_stats st = {sizeof st};
    do { // the first one begins, and fills its buffer
        usleep(1000);
        CHECK_OK(rn_engine_get_stats(f.engine, &st, &err), &err);
        CHECK_INT(st.n_running + st.n_queued, 3);
    } while (st.n_parked == 0);
    CHECK_INT(st.n_running, 1);
    CHECK_INT(st.n_queued, 2); // a parked stream is a running one
    for (int i = 0; i < 3; i++) rn_stream_close(s[i]);
    fixture_close(&f);
}

TEST(a_slow_reader_parks_only_its_own_stream_and_loses_nothing) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *slow, *fast;
    struct outcome alone, got_slow = {0}, got_fast = {0};
    rn_engine_options opt = engine_options();
    opt.n_streams = 2;
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    r.buffer_tokens = 3;
    CHECK_OK(rn_stream_begin(f.engine, &r, &slow, &err), &err);
    r.buffer_tokens = 1024;
    CHECK_OK(rn_stream_begin(f.engine, &r, &fast, &err), &err);
    drain(fast, &got_fast); // ends although the other stream is not read
    rn_engine_stats st = {sizeof st};
    rn_engine_get_stats(f.engine, &st, NULL);
    CHECK_INT(st.n_running, 1);
    drain(slow, &got_slow);
    same_outcome(&got_fast, &alone);
    same_outcome(&got_slow, &alone);
    CHECK_INT(got_slow.n_dropped, 0);
    rn_stream_close(slow);
    rn_stream_close(fast);
    fixture_close(&f);
}

static void wait_until_ended(rn_engine *e) {
    rn_engine_stats st = {sizeof st};
    do {
        usleep(1000);
        rn_engine_get_stats(e, &st, NULL);
    } while (st.n_running + st.n_queued);
}

TEST(drop_oldest_keeps_the_end_and_counts_what_is_lost) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    struct outcome alone, got = {0};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    r.buffer_tokens = 8;
    r.overflow = RN_OVERFLOW_DROP_OLDEST;
    CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err);
    wait_until_ended(f.engine);
    drain(s, &got);
    CHECK_INT(got.finish, RN_FINISH_LENGTH);
    CHECK_INT(got.n_tokens + got.n_dropped, 40);
    CHECK(got.n_dropped > 0 && got.n_tokens <= 9);
    CHECK_MEM(got.tokens, alone.tokens + got.n_dropped, got.n_tokens * sizeof *got.tokens);
    CHECK_STR(got.text, alone.text + alone.n_text - got.n_text);
    rn_stream_close(s);
    fixture_close(&f);
}

TEST(overflow_cancel_ends_a_slow_readers_stream) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    struct outcome got = {0};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.buffer_tokens = 4;
    r.overflow = RN_OVERFLOW_CANCEL;
    if (!fixture_open(&f, &opt)) return;
    CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err);
    wait_until_ended(f.engine); // nothing is read before
    drain(s, &got);
    CHECK_INT(got.finish, RN_FINISH_CANCELLED);
    CHECK_STR(got.detail, "slow reader");
    rn_stream_close(s);
    fixture_close(&f);
}

TEST(a_pace_is_never_exceeded_and_changes_no_text) {
    struct fixture f;
    struct outcome alone, got;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 11;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    r.max_tokens_per_second = 200.0;
    const int64_t t0 = clock_now_ns();
    run_request(f.engine, &r, &got);
    CHECK(clock_now_ns() - t0 >= 10 * 5000000); // eleven tokens, ten gaps of 5 ms
    same_outcome(&got, &alone);
    fixture_close(&f);
}

TEST(a_pace_can_be_changed_and_lifted_while_a_stream_runs) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    struct outcome alone, got = {0};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 40;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &alone)) return;
    r.max_tokens_per_second = 1.0;
    if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    CHECK_OK(rn_stream_next(s, -1, &c, &err), &err);
    outcome_add(&got, &c);
    CHECK_INT(rn_stream_set_rate(s, -1.0, &err), RN_E_ARG);
    CHECK_HAS(err.text, "max_tokens_per_second");
    const int64_t t0 = clock_now_ns();
    CHECK_OK(rn_stream_set_rate(s, 0.0, &err), &err);
    while (got.finish == RN_FINISH_NONE && CHECK_OK(rn_stream_next(s, -1, &c, &err), &err)) outcome_add(&got, &c);
    CHECK(clock_now_ns() - t0 < 30000000000); // 39 tokens at the first pace take 39 s
    same_outcome(&got, &alone);
    rn_stream_close(s);
    fixture_close(&f);
}

static void count_ready(void *user) { __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED); }

TEST(the_ready_callback_comes_for_every_chunk) {
    struct fixture f;
    rn_error err = {0};
    rn_stream *s;
    rn_chunk c = new_chunk();
    int n_ready = 0, n_taken = 0;
    const rn_engine_options opt = engine_options();
    const rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) return;
    rn_stream_on_ready(s, count_ready, &n_ready);
    for (rn_status st = RN_OK; st != RN_E_END;) {
        while (!__atomic_load_n(&n_ready, __ATOMIC_RELAXED)) usleep(100);
        __atomic_store_n(&n_ready, 0, __ATOMIC_RELAXED);
        while ((st = rn_stream_next(s, 0, &c, &err)) == RN_OK) n_taken++;
        if (n_taken == 40) break;
    }
    CHECK_INT(n_taken, 40);
    rn_stream_close(s);
    fixture_close(&f);
}

// --- sessions ---

static bool turn(rn_engine *e, rn_session *session, const char *text, struct outcome *o) {
    rn_request r = text_request(text);
    r.session = session;
    r.max_tokens = 12;
    return run_request(e, &r, o);
}

TEST(a_sessions_next_turn_evaluates_only_what_is_new_and_gives_the_same_text) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    struct outcome one, two, whole;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    turn(f.engine, session, "Once upon a time", &one);
    turn(f.engine, session, "\nThen came a dog.", &two);
    CHECK_INT(one.usage.cached_tokens, 0);
    CHECK_INT(two.usage.cached_tokens, 5 + 12 - 1); // all but the last token made, which had not been evaluated
    const int32_t *held;
    size_t n_held;
    CHECK_OK(rn_session_tokens(session, &held, &n_held, &err), &err);
    CHECK_INT(n_held, two.usage.prompt_tokens + 12);
    CHECK_MEM(held + two.usage.prompt_tokens, two.tokens, 12 * sizeof *held);

    struct fixture fresh; // the same tokens in one piece, nothing cached
    if (fixture_open(&fresh, &opt)) {
        const rn_part ids = {.kind = RN_PART_IDS, .ids = held, .n_ids = (size_t)two.usage.prompt_tokens};
        rn_request r = text_request("");
        r.parts = &ids;
        r.max_tokens = 12;
        run_request(fresh.engine, &r, &whole);
        same_outcome(&two, &whole);
    }
    fixture_close(&fresh);
    rn_session_close(session);
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

TEST(a_sessions_text_goes_on_without_a_space_of_the_tokenizers_own) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    struct outcome one, two;
    const int32_t *held;
    size_t n_held, n;
    char *text, want[20000];
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    turn(f.engine, session, "Once upon a time", &one);
    turn(f.engine, session, "ly thing", &two);
    snprintf(want, sizeof want, "Once upon a time%sly thing%s", one.text, two.text);
    CHECK_OK(rn_session_tokens(session, &held, &n_held, &err), &err);
    CHECK_OK(rn_detokenize(f.model, held, n_held, false, &text, &n, &err), &err);
    CHECK_STR(text, want);
    rn_free(text);
    rn_session_close(session);
    fixture_close(&f);
}

TEST(a_session_can_be_cut_and_forked) {
    struct fixture f;
    rn_error err = {0};
    rn_session *a, *b;
    struct outcome first, again, forked, one;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &a, &err), &err)) return;
    turn(f.engine, a, "Once upon a time", &one);
    CHECK_OK(rn_session_fork(a, &b, &err), &err);
    turn(f.engine, a, " Mia", &first);
    turn(f.engine, b, " Mia", &forked);
    same_outcome(&first, &forked);
    CHECK_OK(rn_session_truncate(a, 17, &err), &err);
    turn(f.engine, a, " Mia", &again);
    same_outcome(&first, &again);
    CHECK_INT(again.usage.cached_tokens, 17 - 1 + (again.usage.cached_tokens == 17));
    CHECK_OK(rn_session_truncate(a, 5, &err), &err);
    turn(f.engine, a, "", &again); // nothing new: the last token's row is evaluated again
    same_outcome(&one, &again);
    rn_session_close(a);
    rn_session_close(b);
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

// Sequences are planned for the streams and so many idle sessions.
TEST(more_sessions_than_there_are_sequences_are_served_and_forked) {
    enum { N = 80 };
    struct fixture f;
    rn_error err = {0};
    rn_session *s[N], *copy;
    struct outcome o, first;
    rn_engine_options opt = engine_options();
    opt.n_kv = 2 * N * 64; // pages are not what runs out
    if (!fixture_open(&f, &opt)) return;
    for (int i = 0; i < N; i++) {
        check_note("session %d", i);
        CHECK_OK(rn_session_open(f.engine, 0, &s[i], &err), &err);
        if (!CHECK(turn(f.engine, s[i], "Once upon a time", &o))) break;
        CHECK_STR(o.detail, "max_tokens 12");
        if (i == 0) first = o;
        CHECK_STR(o.text, first.text);
    }
    CHECK_OK(rn_session_fork(s[N - 1], &copy, &err), &err);
    turn(f.engine, copy, " Then", &o);
    CHECK_INT(o.usage.cached_tokens, 5 + 12 - 1); // the fork shares its pages
    turn(f.engine, s[0], " Then", &first);        // the first one's sequence was released, its text was not
    CHECK_STR(first.text, o.text);
    rn_request r = text_request("Once upon a time");
    CHECK(run_request(f.engine, &r, &o)); // nor does a stream without a session wait for one
    CHECK_STR(o.detail, "max_tokens 40");
    rn_session_close(copy);
    for (int i = 0; i < N; i++) rn_session_close(s[i]);
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

// Cuts and forks a session while another thread begins streams with it: each is done whole, or refused with RN_E_STATE.
static void *cut_and_fork(void *user) {
    rn_session *const session = user;
    rn_error err = {0};
    rn_session *copy;
    const int32_t *held;
    size_t n_held;
    for (int i = 0; i < 60; i++) {
        rn_status st = rn_session_truncate(session, 9, &err);
        CHECK(st == RN_OK || st == RN_E_STATE);
        st = rn_session_fork(session, &copy, &err);
        CHECK(st == RN_OK || st == RN_E_STATE);
        rn_session_close(copy);
        st = rn_session_tokens(session, &held, &n_held, &err);
        CHECK(st == RN_OK || (st == RN_E_STATE && !held && n_held == 0));
    }
    return NULL;
}

// What one thread reads of a session while the other changes it is TSan's to find.
TEST(a_session_can_be_cut_forked_and_read_from_one_thread_while_another_begins_its_turns) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    struct outcome o = {0};
    thread other;
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    if (CHECK_OK(thread_start(&other, cut_and_fork, session, &err), &err)) {
        for (int i = 0; i < 20; i++) {
            rn_request r = text_request("Once upon");
            rn_stream *s;
            r.session = session;
            r.max_tokens = 3;
            if (!CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err)) break;
            o = (struct outcome){0};
            drain(s, &o);
            rn_stream_close(s);
        }
        thread_join(other);
    }
    rn_session_close(session);
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

TEST(a_session_takes_one_stream_at_a_time) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    rn_stream *s, *second;
    struct outcome o = {0};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    r.session = session;
    r.buffer_tokens = 1;
    CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err);
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &second, &err), RN_E_STATE, &err);
    CHECK_FAILS(rn_session_truncate(session, 0, &err), RN_E_STATE, &err);
    drain(s, &o);
    rn_stream_close(s);
    r.max_tokens = -2; // refused: the session must stay free
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_ARG, &err);
    CHECK(turn(f.engine, session, " And", &o));
    rn_session_close(session);
    fixture_close(&f);
}

TEST(a_cancelled_turn_is_kept_as_far_as_it_came) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    rn_stream *s;
    rn_chunk c = new_chunk();
    struct outcome o = {0};
    const int32_t *held;
    size_t n_held;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    r.session = session;
    CHECK_OK(rn_stream_begin(f.engine, &r, &s, &err), &err);
    CHECK_OK(rn_stream_next(s, -1, &c, &err), &err);
    outcome_add(&o, &c);
    rn_stream_cancel(s);
    drain(s, &o);
    rn_stream_close(s);
    CHECK_OK(rn_session_tokens(session, &held, &n_held, &err), &err);
    CHECK_INT(n_held, 5 + o.n_tokens);
    CHECK(turn(f.engine, session, " Then", &o));
    rn_session_close(session);
    fixture_close(&f);
}

// --- scores ---

struct score {
    int32_t argmax[64];
    double nll;
    const int32_t *ids;
    size_t n, rows;
};
static bool add_row(void *user, size_t i, const float *logits, int32_t n_vocab) {
    struct score *s = user;
    double sum = 0.0;
    s->rows++;
    s->argmax[i] = 0;
    for (int32_t k = 0; k < n_vocab; k++) {
        sum += exp((double)logits[k]);
        if (logits[k] > logits[s->argmax[i]]) s->argmax[i] = k;
    }
    if (i + 1 < s->n) s->nll += log(sum) - (double)logits[s->ids[i + 1]];
    return false;
}

TEST(a_score_sees_every_row_in_order_and_agrees_with_generation) {
    struct fixture f;
    rn_error err = {0};
    struct outcome o;
    int32_t ids[45];
    rn_engine_options opt = engine_options();
    opt.n_batch = 16;
    rn_request r = text_request("Once upon a time");
    r.logprobs = 0;
    if (!fixture_open(&f, &opt) || !run_request(f.engine, &r, &o)) return;
    int32_t *prompt;
    size_t n;
    CHECK_OK(rn_tokenize(f.model, "Once upon a time", 16, true, false, &prompt, &n, &err), &err);
    CHECK_INT(n, 5);
    memcpy(ids, prompt, 5 * sizeof *ids);
    memcpy(ids + 5, o.tokens, 40 * sizeof *ids);
    rn_free(prompt);
    struct score s = {.ids = ids, .n = 45};
    CHECK_OK(rn_score(f.engine, 0, ids, 45, add_row, &s, &err), &err);
    CHECK_INT(s.rows, 45);
    CHECK_MEM(s.argmax + 4, o.tokens, 40 * sizeof *ids); // greedy: each token is its row's largest
    CHECK_FAILS(rn_score(f.engine, 0, ids, 0, add_row, &s, &err), RN_E_ARG, &err);
    ids[7] = -1;
    CHECK_FAILS(rn_score(f.engine, 0, ids, 45, add_row, &s, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "ids[7]: token -1 is outside 0..4095");
    CHECK_INT(held_pages(f.engine), 0);
    fixture_close(&f);
}

// Two prompts of a higher class that begin when row 300 is there.
struct interrupted_score {
    rn_stream *more[2];
    size_t n_calls, n_out_of_order;
};
static bool interrupt(void *user, size_t i, const float *logits, int32_t n_vocab) {
    struct interrupted_score *s = user;
    (void)logits, (void)n_vocab;
    if (i != s->n_calls) s->n_out_of_order++;
    s->n_calls++;
    for (int k = 0; i == 300 && k < 2; k++) rn_stream_resume(s->more[k]);
    return false;
}

TEST(a_score_that_was_preempted_still_sees_every_row_once) {
    struct fixture f;
    rn_error err = {0};
    rn_engine_stats st = {sizeof st};
    struct interrupted_score s = {0};
    int32_t ids[500];
    for (int i = 0; i < 500; i++) ids[i] = 300 + i;
    const rn_part parts[2] = {{.kind = RN_PART_IDS, .ids = ids + 10, .n_ids = 250},
                              {.kind = RN_PART_IDS, .ids = ids + 20, .n_ids = 250}};
    rn_engine_options opt = engine_options();
    opt.n_streams = 3;
    opt.n_batch = 16;
    opt.n_ctx = 512;
    opt.n_kv = 512; // 12 pages: the score needs 8, each other stream 5
    if (!fixture_open(&f, &opt)) return;
    for (int k = 0; k < 2; k++) {
        rn_request r = text_request("");
        r.parts = &parts[k];
        r.max_tokens = 60;
        r.priority = RN_PRIORITY_HIGH;
        CHECK_OK(rn_stream_begin(f.engine, &r, &s.more[k], &err), &err);
        rn_stream_pause(s.more[k]);
    }
    CHECK_OK(rn_score(f.engine, 0, ids, 500, interrupt, &s, &err), &err);
    rn_engine_get_stats(f.engine, &st, NULL);
    CHECK(st.n_preempted > 0);
    CHECK_INT(s.n_calls, 500);
    CHECK_INT(s.n_out_of_order, 0);
    for (int k = 0; k < 2; k++) rn_stream_close(s.more[k]);
    fixture_close(&f);
}

// --- several engines, several models ---

TEST(two_engines_and_two_models_in_one_engine_live_side_by_side) {
    struct fixture f, g;
    rn_error err = {0};
    struct outcome a, b, c, d;
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    if (!fixture_open(&f, &opt) || !fixture_open(&g, &opt)) return;
    run_request(f.engine, &r, &a);
    run_request(g.engine, &r, &b);
    same_outcome(&a, &b);
    rn_engine *both;
    rn_model *const models[] = {f.model, g.model, f.model};
    if (CHECK_OK(rn_engine_open(models, 3, &opt, &both, &err), &err)) {
        run_request(both, &r, &c);
        r.model = 2;
        run_request(both, &r, &d);
        same_outcome(&a, &d);
        r.model = 1;
        run_request(both, &r, &d);
        same_outcome(&a, &c);
        same_outcome(&a, &d);
        rn_engine_close(both);
    }
    fixture_close(&g);
    fixture_close(&f);
}

TEST(a_request_names_a_strategy_that_generates) {
    static const struct row {
        const char *name, *error;
    } rows[] = {
        {NULL, NULL},
        {"sample", NULL},
        {"beams", "strategy: beams is unknown; known ones are sample, beam, best-of"},
        {"", "strategy:  is unknown; known ones are sample, beam, best-of"},
        {"score",
         "strategy: score is unknown; known ones are sample, beam, best-of"}, // reads a prompt, and needs params
    };
    struct fixture f;
    struct outcome want, got;
    rn_error err = {0};
    rn_request r = text_request("Once upon a time");
    const rn_engine_options opt = engine_options();
    if (!fixture_open(&f, &opt)) return;
    run_request(f.engine, &r, &want);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_stream *s = NULL;
        r.strategy = rows[i].name;
        check_note("%s", rows[i].name ? rows[i].name : "NULL");
        if (rows[i].error) {
            CHECK_FAILS(rn_stream_begin(f.engine, &r, &s, &err), RN_E_ARG, &err);
            CHECK_HAS(err.text, rows[i].error);
        } else {
            run_request(f.engine, &r, &got);
            same_outcome(&want, &got);
        }
    }
    fixture_close(&f);
}

#define OPTION(field, bad)                                                                                           \
    {#field, offsetof(rn_engine_options, field), sizeof((rn_engine_options){0}.field), (uint64_t)(bad)}
TEST(an_engine_option_out_of_its_range_is_named) {
    static const struct row {
        const char *name;
        size_t at, size;
        uint64_t bad;
    } rows[] = {
        OPTION(n_threads, -1),
        OPTION(n_threads, 65),
        OPTION(kv_type, 4),
        OPTION(n_ctx, -1),
        OPTION(n_ctx, INT32_MAX),
        OPTION(n_streams, 0),
        OPTION(n_streams, 4097),
        OPTION(n_kv, -1),
        OPTION(n_kv, INT64_MAX),
        OPTION(n_batch, -1),
        OPTION(n_batch, 65537),
        OPTION(n_queue, -1),
        OPTION(n_queue, INT32_MAX),
        OPTION(n_queue_tokens, -1),
        OPTION(n_queue_tokens, INT64_MAX),
        OPTION(queue_wait_ms, -1),
        OPTION(target_itl_ms, 60001),
        OPTION(n_seqs, 1025),
        OPTION(n_scratch, 4097),
        OPTION(reserved_bytes, UINT64_MAX),
    };
    rn_error err = {0};
    rn_model *model = NULL;
    if (!CHECK_OK(rn_model_open(stories(), NULL, &model, &err), &err)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rn_engine_options o = engine_options();
        rn_engine *e = NULL;
        char want[64];
        snprintf(want, sizeof want, "%s: ", rows[i].name);
        memcpy((char *)&o + rows[i].at, &rows[i].bad, rows[i].size); // of a little-endian number its low bytes
        check_note("%s %" PRIu64, rows[i].name, rows[i].bad);
        const rn_status st = rn_engine_open(&model, 1, &o, &e, &err);
        CHECK(st == RN_E_ARG || st == RN_E_LIMIT);
        CHECK(strncmp(err.text, want, strlen(want)) == 0);
        rn_engine_close(e);
    }
    rn_engine_options o = engine_options();
    rn_engine *e;
    o.kv_type = (rn_kv_type)-1;
    CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "kv_type: -1 is outside 0..3");
    rn_model_close(model);
}

TEST(field_2_13_a_context_that_does_not_fit_is_refused_with_the_table) {
    rn_error err = {0};
    rn_model *model;
    rn_engine *e;
    rn_engine_options o = engine_options();
    o.memory_limit = 40 << 20;
    o.n_ctx = 100000;
    if (!CHECK_OK(rn_model_open(stories(), NULL, &model, &err), &err)) return;
    CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "n_ctx: 100000 tokens do not fit into memory");
    CHECK_HAS(err.text, "weights repacked");
    CHECK_HAS(err.text, "limit 40.0 MiB");
    o.memory_limit = 1 << 20;
    CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "n_ctx: 100000 tokens do not fit into memory, nor do fewer: ");
    o.n_ctx = 0;
    CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_LIMIT, &err);
    CHECK_HAS(err.text, "context: 64 tokens do not fit into memory, nor do fewer: ");
    // by itself the context that fits is chosen
    o.memory_limit = 35 << 20;
    if (CHECK_OK(rn_engine_open(&model, 1, &o, &e, &err), &err)) {
        rn_engine_info info = {.struct_size = sizeof info};
        CHECK_OK(rn_engine_get_info(e, 0, &info, &err), &err);
        CHECK(info.n_ctx >= 64 && info.n_ctx <= 512);
        CHECK(info.mapped_bytes + info.repacked_bytes + info.buffer_bytes + info.kv_bytes + info.other_bytes <=
              o.memory_limit);
        rn_engine_close(e);
    }
    rn_model_close(model);
}

TEST(field_2_26_an_impossible_cpu_set_is_an_error_that_names_those_there_are) {
    rn_error err = {0};
    rn_model *model;
    rn_engine *e;
    rn_engine_options o = engine_options();
    o.cpu = "z80";
    if (!CHECK_OK(rn_model_open(stories(), NULL, &model, &err), &err)) return;
    CHECK_FAILS(rn_engine_open(&model, 1, &o, &e, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "ref");
    rn_model_close(model);
}

// --- faults ---

static rn_status open_and_close_model(void *user) {
    rn_model *m;
    rn_error err = {0};
    const rn_status st = rn_model_open(user, NULL, &m, &err);
    rn_model_close(m);
    return st;
}
TEST(every_failed_allocation_while_a_model_opens_is_reported_and_leaks_nothing) {
    check_each_failed_allocation(open_and_close_model, (void *)stories(), __FILE__, __LINE__);
}

TEST(field_2_09_a_model_whose_tokenizer_is_not_known_serves_ids_and_every_failed_allocation_is_reported) {
    const struct tiny_model tiny = tiny_model_default();
    struct gguf_builder b;
    rn_model_info info = {.struct_size = sizeof info};
    rn_model *m = NULL;
    rn_error err = {0};
    int32_t *ids;
    size_t n, n_ids;
    char path[512];
    snprintf(path, sizeof path, "%s/unknown.gguf", temp_dir());
    gb_begin(&b, 3);
    b.omit = "tokenizer.ggml.pre";
    tiny_model_build(&tiny, &b);
    b.omit = NULL;
    gb_str(&b, "tokenizer.ggml.pre", "my-splitter");
    uint8_t *bytes = gb_finish(&b, &n);
    CHECK(write_file(path, bytes, n));
    free(bytes);
    if (!CHECK_OK(rn_model_open(path, NULL, &m, &err), &err)) return;
    CHECK_OK(rn_model_get_info(m, &info, &err), &err);
    CHECK(!info.has_tokenizer && info.n_end_tokens > 0);
    CHECK_STR(info.tokenizer, "gpt2 / my-splitter (not known)");
    CHECK_HAS(info.tokenizer_error, "pre-tokenizer: \"my-splitter\" is not known to runnel");
    CHECK_FAILS(rn_tokenize(m, "a", 1, false, false, &ids, &n_ids, &err), RN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "unknown.gguf: pre-tokenizer: \"my-splitter\"");
    rn_model_close(m);
    check_each_failed_allocation(open_and_close_model, path, __FILE__, __LINE__);
}

static rn_status open_and_close_engine(void *user) {
    rn_engine *e;
    rn_error err = {0};
    rn_engine_options o = engine_options();
    o.n_threads = 2;
    const rn_status st = rn_engine_open((rn_model **)&user, 1, &o, &e, &err);
    rn_engine_close(e);
    return st;
}
TEST(every_failed_allocation_while_an_engine_opens_is_reported_and_leaks_nothing) {
    rn_error err = {0};
    rn_model *m;
    if (CHECK_OK(rn_model_open(stories(), NULL, &m, &err), &err))
        check_each_failed_allocation(open_and_close_engine, m, __FILE__, __LINE__);
    rn_model_close(m);
}

static rn_status begin_and_close_stream(void *user) {
    rn_stream *s;
    rn_error err = {0};
    static const char *const stops[] = {"abc", "abd"};
    static const rn_logit_bias bias[] = {{7, 1.0f}};
    rn_request r = text_request("Once upon a time");
    r.stop = stops;
    r.n_stop = 2;
    sampling_of(&r)->logit_bias = bias;
    sampling_of(&r)->n_logit_bias = 1;
    r.echo = r.token_times = true;
    r.logprobs = 4;
    r.prompt_logprobs = 2;
    r.max_tokens = 1;
    const rn_status st = rn_stream_begin(user, &r, &s, &err);
    rn_stream_close(s);
    return st;
}
TEST(every_failed_allocation_of_a_request_is_reported_and_leaks_nothing) {
    struct fixture f;
    const rn_engine_options opt = engine_options();
    if (fixture_open(&f, &opt)) check_each_failed_allocation(begin_and_close_stream, f.engine, __FILE__, __LINE__);
    fixture_close(&f);
}

TEST(a_file_that_shrinks_while_it_is_mapped_ends_streams_with_an_error) {
    rn_error err = {0};
    size_t n;
    char path[512];
    struct fixture f = {0};
    struct outcome o;
    const rn_engine_options opt = engine_options();
    uint8_t *bytes = read_file(stories(), &n);
    snprintf(path, sizeof path, "%s/shrinks.gguf", temp_dir());
    CHECK(write_file(path, bytes, n));
    free(bytes);
    CHECK_OK(rn_model_open(path, NULL, &f.model, &err), &err);
    CHECK_OK(rn_engine_open(&f.model, 1, &opt, &f.engine, &err), &err);
    const rn_request r = text_request("Once upon a time");
    CHECK_INT(truncate(path, 100000), 0);
    run_request(f.engine, &r, &o);
    CHECK_INT(o.finish, RN_FINISH_ERROR);
    CHECK_HAS(o.detail, "shrinks.gguf");
    fixture_close(&f);
}

static bool stop_at_once(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    return phase == *(rn_phase *)user;
}
TEST(progress_callbacks_may_abort_loading_repacking_and_prefill) {
    rn_error err = {0};
    rn_phase phase = RN_PHASE_LOAD;
    rn_model *m;
    rn_model_options mo;
    rn_model_options_init(&mo);
    mo.progress = stop_at_once;
    mo.progress_user = &phase;
    CHECK_FAILS(rn_model_open(stories(), &mo, &m, &err), RN_E_CANCELLED, &err);
    phase = RN_PHASE_REPACK;
    if (!CHECK_OK(rn_model_open(stories(), &mo, &m, &err), &err)) return;
    rn_engine_options o = engine_options();
    rn_engine *e;
    o.progress = stop_at_once;
    o.progress_user = &phase;
    const rn_status st = rn_engine_open(&m, 1, &o, &e, &err);
    CHECK(st == RN_E_CANCELLED || st == RN_OK); // ref repacks nothing
    rn_engine_close(e);
    o.progress = NULL;
    phase = RN_PHASE_PREFILL;
    if (CHECK_OK(rn_engine_open(&m, 1, &o, &e, &err), &err)) {
        struct outcome out;
        rn_request r = text_request("Once upon a time");
        r.progress = stop_at_once;
        r.progress_user = &phase;
        run_request(e, &r, &out);
        CHECK_INT(out.finish, RN_FINISH_CANCELLED);
        rn_engine_close(e);
    }
    rn_model_close(m);
}

TEST(every_sampling_field_reaches_the_sampler) {
    rn_sampling s;
    rn_error err = {0};
    for (size_t i = 0; i < rn_n_sampling_fields(); i++) {
        rn_field f;
        rn_sampling before;
        rn_sampling_init(&s);
        before = s;
        CHECK(rn_sampling_field(i, &f));
        check_note("%s", f.name);
        CHECK((float)rn_sampling_get(&s, f.name) == (float)f.def);
        const double other = f.def == f.max ? (f.is_int ? f.max - 1 : (f.min + f.max) / 2)
                             : f.is_int     ? f.def + 1
                                            : (f.def + f.max) / 2;
        CHECK_OK(rn_sampling_set(&s, f.name, other, &err), &err);
        CHECK(memcmp(&before, &s, sizeof before) != 0);
        CHECK_FAILS(rn_sampling_set(&s, f.name, NAN, &err), RN_E_ARG, &err);
        CHECK_FAILS(rn_sampling_set(&s, f.name, f.max * 2 + 1, &err), RN_E_ARG, &err);
    }
    CHECK_FAILS(rn_sampling_set(&s, "top_q", 1, &err), RN_E_ARG, &err);
}

TEST(a_sampling_field_that_does_not_go_with_the_others_changes_nothing) {
    rn_sampling s, before;
    rn_error err = {0};
    rn_sampling_init(&s);
    CHECK_OK(rn_sampling_set(&s, "mirostat", 2, &err), &err);
    before = s;
    CHECK_FAILS(rn_sampling_set(&s, "adaptive_target", 0.5, &err), RN_E_ARG, &err);
    CHECK_STR(err.text, "adaptive_target: excludes mirostat");
    CHECK_MEM(&s, &before, sizeof s);
}
