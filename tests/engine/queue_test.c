// tests/engine/queue_test.c - who begins when: classes, ageing, clients, bounds, deadlines; and what others see of a stream.
#include "base/clock.h"
#include "engine/engine.h"
#include "fixture.h"
#include <stdatomic.h>
#include <unistd.h>

// ---- choosing, on a list made by hand -------------------------------------------------------------------------------

#define SECOND INT64_C(1000000000)
enum { N_WAITING = 8 };

struct waiting {
    rn_engine *e;
    rn_stream s[N_WAITING];
    int n;
};

static void waiting_init(struct waiting *w, int32_t n_streams) {
    *w = (struct waiting){.e = calloc(1, sizeof *w->e)};
    w->e->n_model_slots = 1;
    w->e->opt.n_streams = n_streams;
    w->e->opt.n_queue = 64;
    w->e->model_slots[0].n_ctx = 100;
}

static rn_stream *wait_more(struct waiting *w, int32_t priority, uint64_t client, int64_t t_begin) {
    rn_stream *const s = &w->s[w->n++];
    s->engine = w->e;
    s->model_slot = &w->e->model_slots[0];
    s->turn.slot = -1;
    s->turn.priority = priority;
    s->turn.client = client;
    s->time.begin = t_begin;
    s->n_prompt = 10;
    s->out.cap_tokens = s->out.cap_text = s->out.cap_chunks = 8;
    queue_add(w->e, s);
    return s;
}

// Starts the next stream and returns its index; -1: none may start.
static int begin_next(struct waiting *w, int64_t now) {
    rn_stream *const s = queue_next(w->e, now);
    if (s) queue_begin(s, now);
    return s ? (int)(s - w->s) : -1;
}

static void waiting_free(struct waiting *w) { free(w->e); }

TEST(field_3_11_the_highest_class_begins_first_then_the_oldest) {
    struct waiting w;
    waiting_init(&w, 8);
    wait_more(&w, RN_PRIORITY_LOW, 0, 1);
    wait_more(&w, RN_PRIORITY_NORMAL, 0, 2);
    wait_more(&w, RN_PRIORITY_HIGH, 0, 3);
    wait_more(&w, RN_PRIORITY_NORMAL, 0, 4);
    CHECK_INT(queue_position(w.e, &w.s[2]) >= 1, 1);
    static const int want[] = {2, 1, 3, 0, -1};
    for (int i = 0; i < 5; i++) CHECK_INT(begin_next(&w, SECOND), want[i]);
    waiting_free(&w);
}

TEST(field_3_11_ten_seconds_without_a_turn_raise_a_class_so_that_none_starves) {
    struct waiting w;
    waiting_init(&w, 8);
    wait_more(&w, RN_PRIORITY_LOW, 0, 0);
    wait_more(&w, RN_PRIORITY_LOW, 0, 0);
    for (int i = 2; i < 5; i++) wait_more(&w, RN_PRIORITY_HIGH, 0, 25 * SECOND);
    CHECK_INT(begin_next(&w, 29 * SECOND), 2); // low was raised twice and ties: the higher class goes
    CHECK_INT(begin_next(&w, 31 * SECOND), 0); // three times
    CHECK_INT(begin_next(&w, 32 * SECOND), 3); // it had its turn: a single one, not all that are as old
    CHECK_INT(begin_next(&w, 33 * SECOND), 4);
    CHECK_INT(begin_next(&w, 34 * SECOND), 1);
    waiting_free(&w);
}

TEST(field_3_11_of_a_class_the_client_with_the_fewest_running_streams_is_next) {
    struct waiting w;
    waiting_init(&w, 8);
    for (int i = 0; i < 4; i++) wait_more(&w, 0, 77, i);
    wait_more(&w, 0, 88, 10);
    wait_more(&w, 0, 0, 11); // two without a client: each counts as its own
    wait_more(&w, 0, 0, 12);
    static const int want[] = {0, 4, 5, 6, 1, 2};
    for (int i = 0; i < 6; i++) CHECK_INT(begin_next(&w, SECOND), want[i]);
    CHECK_INT(w.s[3].turn.n_client_running, 3);
    CHECK_INT(w.s[0].turn.n_client_running, 2);
    CHECK_INT(w.s[4].turn.n_client_running, 0);
    for (int i = 0; i < 3; i++) queue_leave(&w.s[i]);
    CHECK_INT(w.s[3].turn.n_client_running, 0);
    waiting_free(&w);
}

TEST(slots_are_the_lowest_free_numbers) {
    struct waiting w;
    waiting_init(&w, 3);
    for (int i = 0; i < 5; i++) wait_more(&w, 0, 0, i);
    for (int i = 0; i < 3; i++) CHECK_INT(begin_next(&w, 1), i);
    CHECK_INT(begin_next(&w, 1), -1);
    CHECK_INT(w.s[2].turn.slot, 2);
    queue_leave(&w.s[1]);
    CHECK_INT(w.s[1].turn.slot, -1);
    CHECK_INT(begin_next(&w, 1), 3);
    CHECK_INT(w.s[3].turn.slot, 1);
    waiting_free(&w);
}

TEST(a_paused_stream_is_passed_over_and_a_preempted_one_goes_first_once_another_has_ended) {
    struct waiting w;
    waiting_init(&w, 2);
    wait_more(&w, 0, 0, 0);
    wait_more(&w, 0, 0, 1);
    wait_more(&w, 0, 0, 2);
    wait_more(&w, 0, 0, 3);
    atomic_store(&w.s[0].paused, true);
    CHECK_INT(begin_next(&w, 9), 1);
    w.s[3].turn.was_preempted = true;
    w.s[3].turn.ended_when_preempted = w.e->model_slots[0].n_ended;
    CHECK_INT(begin_next(&w, 9), -1); // no stream of its model overtakes it
    w.e->model_slots[0].n_ended++;
    CHECK_INT(begin_next(&w, 9), 3);
    waiting_free(&w);
}

// s[1] runs, s[0] was preempted for its sake, and s[2] is new.
static void waiting_after_a_preemption(struct waiting *w) {
    waiting_init(w, 3);
    for (int i = 0; i < 3; i++) wait_more(w, 0, 0, i);
    atomic_store(&w->s[0].paused, true);
    CHECK_INT(begin_next(w, 9), 1);
    atomic_store(&w->s[0].paused, false);
    w->s[0].turn.was_preempted = true;
    w->s[0].turn.ended_when_preempted = w->e->model_slots[0].n_ended;
    CHECK_INT(begin_next(w, 9), -1);
}

static void fill_outbox(rn_stream *s) { s->out.token_head = s->out.cap_tokens; }

TEST(a_preempted_stream_does_not_wait_for_one_that_is_idle) {
    struct waiting w;
    for (int how = 0; how < 4; how++) {
        waiting_after_a_preemption(&w);
        if (how == 0) atomic_store(&w.s[1].paused, true);
        if (how == 1) fill_outbox(&w.s[1]);
        if (how == 2) w.s[1].time.next_token = 9 + 2 * SECOND; // its rate limit holds it back
        if (how == 3)
            fill_outbox(&w.s[1]), w.s[1].overflow = RN_OVERFLOW_DROP_OLDEST; // continues even if it is not read
        check_note("way %d to be idle", how);
        CHECK_INT(begin_next(&w, 9), how < 3 ? 0 : -1);
        waiting_free(&w);
    }
}

TEST(a_preempted_stream_that_is_idle_neither_begins_nor_holds_others_back) {
    struct waiting w;
    for (int how = 0; how < 2; how++) {
        waiting_after_a_preemption(&w);
        if (how == 0) atomic_store(&w.s[0].paused, true);
        if (how == 1) fill_outbox(&w.s[0]);
        check_note("way %d to be idle", how);
        CHECK_INT(begin_next(&w, 9), 2);
        CHECK_INT(begin_next(&w, 9), -1);
        w.e->model_slots[0].n_ended++;
        CHECK_INT(begin_next(&w, 9), -1);
        atomic_store(&w.s[0].paused, false);
        w.s[0].out.token_head = 0;
        CHECK_INT(begin_next(&w, 9), 0);
        waiting_free(&w);
    }
}

TEST(field_3_11_the_queue_is_bounded_in_prompt_tokens_and_says_when_to_ask_again) {
    struct waiting w;
    rn_error err = {0};
    waiting_init(&w, 1);
    w.e->opt.n_queue_tokens = 25;
    rn_stream more = {.engine = w.e, .model_slot = &w.e->model_slots[0], .n_prompt = 10};
    CHECK_OK(queue_check(w.e, &more, &err), &err);
    wait_more(&w, 0, 0, 0);
    w.s[0].n_limit = 60;
    begin_next(&w, 1);
    wait_more(&w, 0, 0, 1);
    CHECK_OK(queue_check(w.e, &more, &err), &err);
    wait_more(&w, 0, 0, 2);
    step_time_learn(&w.e->model_slots[0].step_time, 1, 0, 200000000); // 50 tokens of 0.2 s are left
    CHECK_FAILS(queue_check(w.e, &more, &err), RN_E_BUSY, &err);
    CHECK_HAS(err.text, "queue: full: 30 prompt tokens would wait, limit 25; 1 streams run, 2 wait");
    CHECK_INT(err.retry_after_s, 10);
    more.n_prompt = 5;
    CHECK_OK(queue_check(w.e, &more, &err), &err);
    running_median_add(&w.e->end_gap, 3e9); // streams end every three seconds: two have to, for twenty tokens
    more.n_prompt = 20;
    CHECK_FAILS(queue_check(w.e, &more, &err), RN_E_BUSY, &err);
    CHECK_INT(err.retry_after_s, 6);
    w.e->opt.n_queue_tokens = 0; // four contexts
    CHECK_OK(queue_check(w.e, &more, &err), &err);
    more.n_prompt = 381;
    CHECK_FAILS(queue_check(w.e, &more, &err), RN_E_BUSY, &err);
    CHECK_HAS(err.text, "limit 400");
    waiting_free(&w);
}

// ---- an engine ------------------------------------------------------------------------------------------------------

static rn_stream_state state_of(rn_stream *s) {
    rn_error err = {0};
    rn_stream_state st = {.struct_size = sizeof st};
    CHECK_OK(rn_stream_get_state(s, &st, &err), &err);
    return st;
}

// A stream that runs until it is no longer read: its place is taken.
static rn_stream *begin_holder(rn_engine *e) {
    rn_error err = {0};
    rn_stream *s = NULL;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = -1;
    r.buffer_tokens = 1;
    for (;;) {
        if (!CHECK_OK(rn_stream_begin(e, &r, &s, &err), &err)) return NULL;
        while (!state_of(s).is_parked && state_of(s).phase != RN_STREAM_ENDED) usleep(1000);
        if (state_of(s).is_parked) return s;
        rn_stream_close(s); // on a busy machine even its own wait may be over the engine's limit
    }
}

static rn_stream *begin(rn_engine *e, const rn_request *r) {
    rn_error err = {0};
    rn_stream *s = NULL;
    CHECK_OK(rn_stream_begin(e, r, &s, &err), &err);
    return s;
}

TEST(a_streams_state_says_where_it_waits_and_how_far_it_is) {
    struct fixture f;
    rn_engine_options opt = engine_options();
    struct outcome o = {0};
    if (!fixture_open(&f, &opt)) return;
    rn_stream *holder = begin_holder(f.engine);
    rn_request r = text_request("Once upon a time");
    rn_stream *a = begin(f.engine, &r);
    r.priority = RN_PRIORITY_HIGH;
    rn_stream *b = begin(f.engine, &r);
    rn_stream_state st = state_of(holder);
    CHECK_INT(st.phase, RN_STREAM_DECODE);
    CHECK_INT(st.n_prompt, 5);
    CHECK(st.n_generated >= 1 && st.n_evaluated == 5 + st.n_generated - 1 && st.n_to_evaluate == st.n_evaluated);
    CHECK_INT(st.kv_pages, 1);
    CHECK_INT(st.slot, 0);
    CHECK_INT(st.queue_position, 0);
    CHECK_INT(state_of(a).queue_position, 2);
    CHECK_INT(state_of(b).queue_position, 1);
    st = state_of(a);
    CHECK_INT(st.phase, RN_STREAM_QUEUED);
    CHECK_INT(st.slot, -1);
    CHECK(st.n_evaluated == 0 && st.n_generated == 0 && st.n_to_evaluate == 5 && st.kv_pages == 0);
    rn_stream_pause(a);
    CHECK(state_of(a).is_paused);
    rn_stream_resume(a);
    rn_stream_close(holder);
    drain(a, &o);
    while (state_of(a).phase != RN_STREAM_ENDED) usleep(1000); // set right after its last chunk
    st = state_of(a);
    CHECK_INT(st.phase, RN_STREAM_ENDED);
    CHECK_INT(st.n_generated, 40);
    CHECK_INT(st.kv_pages, 0);
    CHECK_STR(rn_stream_phase_name(st.phase), "ended");
    rn_stream_close(a);
    rn_stream_close(b);
    fixture_close(&f);
}

TEST(field_3_14_a_deadline_ends_a_stream_that_waits_with_nothing_and_one_that_runs_with_what_there_is) {
    struct fixture f;
    rn_engine_options opt = engine_options();
    struct outcome waited = {0}, ran = {0};
    if (!fixture_open(&f, &opt)) return;
    rn_request r = text_request("Once upon a time");
    r.max_tokens = -1;
    r.buffer_tokens = 3; // parks, so that only the deadline ends it
    r.timeout_ms = 200;
    rn_stream *a = begin(f.engine, &r);
    r.timeout_ms = 1;
    rn_stream *b = begin(f.engine, &r);
    drain(b, &waited);
    CHECK_INT(waited.finish, RN_FINISH_LENGTH);
    CHECK_STR(waited.detail, "timeout");
    while (state_of(a).phase != RN_STREAM_ENDED) usleep(1000);
    drain(a, &ran);
    CHECK_INT(ran.finish, RN_FINISH_LENGTH);
    CHECK_STR(ran.detail, "timeout");
    CHECK(ran.n_tokens >= 1 && ran.n_tokens <= 4);
    rn_stream_close(a);
    rn_stream_close(b);
    r.timeout_ms = -1;
    rn_error err = {0};
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &a, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "timeout_ms");
    r.timeout_ms = 0;
    r.priority = (rn_priority)2;
    CHECK_FAILS(rn_stream_begin(f.engine, &r, &a, &err), RN_E_ARG, &err);
    CHECK_HAS(err.text, "priority: 2 is outside -1..1");
    fixture_close(&f);
}

TEST(field_3_11_waiting_too_long_in_the_queue_is_an_error_of_its_own_kind) {
    struct fixture f;
    rn_engine_options opt = engine_options();
    opt.queue_wait_ms = 20;
    if (!fixture_open(&f, &opt)) return;
    rn_stream *holder = begin_holder(f.engine);
    const rn_request r = text_request("Once upon a time");
    rn_stream *s = begin(f.engine, &r);
    rn_chunk c = new_chunk();
    rn_error err = {0};
    CHECK_OK(rn_stream_next(s, 60000000000, &c, &err), &err);
    CHECK_INT(c.finish_reason, RN_FINISH_ERROR);
    CHECK_INT(c.error, RN_E_BUSY);
    CHECK_HAS(c.finish_detail, "queue: waited for the limit of 20 ms; 1 streams run, 1 wait");
    CHECK_INT(state_of(holder).phase, RN_STREAM_DECODE); // one that runs is not held to it
    rn_stream_close(s);
    rn_stream_close(holder);
    fixture_close(&f);
}

// The first call of a long prompt's progress waits until a short one was begun behind it.
struct race {
    atomic_int short_begun;
    int order[64], n;
};
struct racer {
    struct race *race;
    int id;
};
static bool note_progress(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    struct racer *const r = user;
    while (!atomic_load(&r->race->short_begun)) usleep(100);
    if (phase == RN_PHASE_PREFILL && done == total) r->race->order[r->race->n++] = r->id;
    return false;
}

TEST(field_3_12_a_short_prompt_behind_a_long_one_is_evaluated_first) {
    struct fixture f;
    struct race race = {0};
    struct racer slow = {&race, 1}, quick = {&race, 2};
    rn_engine_options opt = engine_options();
    opt.n_streams = 2;
    opt.n_batch = 16;
    int32_t ids[300];
    for (int i = 0; i < 300; i++) ids[i] = 300 + i;
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 300};
    struct outcome a = {0}, b = {0}, alone;
    if (!fixture_open(&f, &opt)) return;
    rn_request r = text_request("Once upon a time there was a little girl");
    run_request(f.engine, &r, &alone);
    rn_request l = r;
    l.parts = &part;
    l.progress = note_progress, l.progress_user = &slow;
    r.progress = note_progress, r.progress_user = &quick;
    rn_stream *s1 = begin(f.engine, &l), *s2 = begin(f.engine, &r);
    atomic_store(&race.short_begun, 1);
    drain(s1, &a);
    drain(s2, &b);
    CHECK_INT(race.n, 2);
    CHECK_INT(race.order[0], 2);
    same_outcome(&b, &alone);
    rn_stream_close(s1);
    rn_stream_close(s2);
    fixture_close(&f);
}

// Pages for two long streams and a third, which is preempted. The first two fill their buffers, which are not read.
TEST(readers_that_stopped_do_not_halt_the_others_after_a_preemption) {
    struct fixture f;
    rn_engine_options opt = engine_options();
    opt.n_streams = 3;
    opt.n_ctx = 192;
    opt.n_kv = 192;
    static const char *const prompts[] = {"Once upon a time", "Lily was sad", "The dog ran", "Tom had a ball"};
    struct outcome alone[4], got[4] = {0};
    rn_request r[4];
    rn_stream *s[4];
    rn_engine_stats st = {sizeof st};
    if (!fixture_open(&f, &opt)) return;
    for (int i = 0; i < 4; i++) {
        r[i] = text_request(prompts[i]);
        r[i].ignore_eos = true;
        r[i].max_tokens = -1;
        run_request(f.engine, &r[i], &alone[i]);
    }
    for (int i = 0; i < 4; i++) {
        r[i].buffer_tokens = i < 2 ? 150 : 1024;
        s[i] = begin(f.engine, &r[i]);
    }
    drain(s[2], &got[2]);
    drain(s[3], &got[3]);
    rn_engine_get_stats(f.engine, &st, NULL);
    CHECK(st.n_preempted > 1); // the third, then one of those that are not read
    drain(s[0], &got[0]);
    drain(s[1], &got[1]);
    for (int i = 0; i < 4; i++) {
        check_note("stream %d", i);
        same_outcome(&got[i], &alone[i]);
        rn_stream_close(s[i]);
    }
    fixture_close(&f);
}

TEST(stats_count_what_the_prefix_index_gave_and_how_streams_ended) {
    struct fixture f;
    rn_error err = {0};
    struct outcome o;
    rn_engine_stats st = {sizeof st}, one = {sizeof one};
    const rn_engine_options opt = engine_options();
    rn_request r = text_request("Once upon a time");
    r.max_tokens = 70;    // more than a page is left behind
    r.speculate = "none"; // rows are counted
    if (!fixture_open(&f, &opt)) return;
    run_request(f.engine, &r, &o);
    run_request(f.engine, &r, &o);
    rn_engine_get_stats(f.engine, &st, NULL);
    CHECK_OK(rn_engine_get_model_stats(f.engine, 0, &one, &err), &err);
    CHECK_MEM(&st, &one, sizeof st);
    CHECK_INT(st.prefix_queries, 10);
    CHECK_INT(st.prefix_hits, o.usage.cached_tokens);
    CHECK_INT(st.prefix_hits, 4);
    CHECK_INT(st.prefix_misses[RN_MISS_EMPTY], 5);
    CHECK_INT(st.prefix_misses[RN_MISS_NONE], 1); // its last row
    CHECK_INT(st.n_ended[RN_FINISH_LENGTH], 2);
    CHECK_INT(st.n_prompt_rows, 6);
    CHECK_INT(st.n_rows, st.n_prompt_rows + 2 * 69);
    CHECK_INT(st.n_running, 0);
    CHECK(st.kv_pages_cached > 0 && st.kv_pages_free + st.kv_pages_cached == st.kv_pages);
    CHECK_FAILS(rn_engine_get_model_stats(f.engine, 1, &one, &err), RN_E_ARG, &err);
    CHECK_STR(rn_miss_name(RN_MISS_EVICTED), "evicted");
    fixture_close(&f);
}

// The session's pages are needed: a step fails, and is evaluated again once they are released.
TEST(steps_that_found_no_memory_are_not_counted) {
    struct fixture f;
    rn_error err = {0};
    rn_session *session;
    rn_engine_stats before = {sizeof before}, after = {sizeof after};
    struct outcome o;
    int32_t ids[150];
    for (int i = 0; i < 150; i++) ids[i] = 300 + i;
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = 150};
    rn_engine_options opt = engine_options();
    opt.n_ctx = 192;
    opt.n_kv = 192; // five pages: three for the session, three for the stream
    if (!fixture_open(&f, &opt) || !CHECK_OK(rn_session_open(f.engine, 0, &session, &err), &err)) return;
    rn_request r = text_request("");
    r.parts = &part;
    r.max_tokens = 1;
    r.session = session;
    run_request(f.engine, &r, &o);
    rn_engine_get_stats(f.engine, &before, NULL);
    r = text_request("Once upon a time");
    r.ignore_eos = true;
    r.max_tokens = 180;
    r.speculate = "none"; // steps are counted
    run_request(f.engine, &r, &o);
    rn_engine_get_stats(f.engine, &after, NULL);
    CHECK_INT(after.n_steps - before.n_steps, 180);
    CHECK_INT(after.n_rows - before.n_rows, 5 + 179);
    CHECK_INT(after.n_prompt_rows - before.n_prompt_rows, 5);
    rn_session_close(session);
    fixture_close(&f);
}
