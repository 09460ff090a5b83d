// engine/scheduler.c - the step thread: batches the rows of all streams, decode before prefill; then each strategy absorbs results.
//
// A round: run calls of other threads; end cancelled and timed-out streams; start queued ones while there is room
// (queue.c); one step per model (step_build.c). When keys and values run out, idle sessions release their pages, then a stream is
// preempted: it loses its pages and later evaluates its tokens again, with the same bits (design.md, section 6).
#include "base/clock.h"
#include "engine/engine.h"
#include <stdio.h>

void engine_wake(rn_engine *e) {
    e->work = true;
    condvar_signal(&e->wake);
}

void engine_call_wait(rn_engine *e, void (*fn)(void *), void *ctx) {
    struct engine_call call = {.fn = fn, .ctx = ctx};
    mutex_lock(&e->lock);
    *e->calls_end = &call;
    e->calls_end = &call.next;
    engine_wake(e);
    while (!call.done) condvar_wait(&e->changed, &e->lock, -1);
    mutex_unlock(&e->lock);
}

// With the lock held; released while a call runs.
static void run_calls(rn_engine *e) {
    while (e->calls) {
        struct engine_call *c = e->calls;
        e->calls = c->next;
        if (!e->calls) e->calls_end = &e->calls;
        mutex_unlock(&e->lock);
        c->fn(c->ctx);
        mutex_lock(&e->lock);
        for (size_t i = 0; i < e->n_model_slots; i++)
            model_slot_show(&e->model_slots[i]); // the call may have freed pages
        c->done = true;
        condvar_broadcast(&e->changed);
    }
}

// Removes a stream from the list and delivers its end. With the lock held; released while the outbox is written.
static void end_stream(rn_stream *s, rn_finish why, const char *detail) {
    rn_engine *e = s->engine;
    queue_leave(s);
    mutex_unlock(&e->lock);
    stream_end(s, why, detail);
    mutex_lock(&e->lock);
    if (s->session) s->session->stream = NULL;
    s->model_slot->n_ended++;
    s->model_slot->stats.n_ended[why]++;
    s->state = STREAM_ENDED;
    stream_show(s);
    for (size_t i = 0; i < e->n_model_slots; i++) model_slot_show(&e->model_slots[i]); // it may have had pages of all
    condvar_broadcast(&e->changed);
}

static void end_failed(rn_stream *s, const rn_error *err) {
    s->end.status = err->code;
    end_stream(s, RN_FINISH_ERROR, err->text);
}

// 0: none. While it waits for its first turn the queue's limit holds as well.
static int64_t deadline_of(const rn_stream *s, bool *of_queue) {
    const int64_t timeout = s->time.timeout_ms ? s->time.begin + s->time.timeout_ms * INT64_C(1000000) : 0,
                  wait = s->time.scheduled == 0 && s->engine->opt.queue_wait_ms
                             ? s->time.begin + s->engine->opt.queue_wait_ms * INT64_C(1000000)
                             : 0;
    *of_queue = wait && (!timeout || wait < timeout);
    return *of_queue ? wait : timeout;
}

static void end_waiting(rn_stream *s) {
    rn_error err;
    fail(&err, RN_E_BUSY, "queue: waited for the limit of %d ms; %d streams run, %d wait",
         s->engine->opt.queue_wait_ms, s->engine->n_running, s->engine->n_queued);
    end_failed(s, &err);
}

// Ends streams that were cancelled or timed out.
static void end_due(rn_engine *e, struct round *r) {
    for (rn_stream *s = e->streams, *next; s; s = next) {
        bool of_queue;
        const int64_t deadline = deadline_of(s, &of_queue);
        next = s->next;
        if (atomic_load(&s->cancelled) || e->stopping)
            end_stream(s, RN_FINISH_CANCELLED, s->end.cancel_why ? s->end.cancel_why : "cancelled");
        else if (deadline && deadline > r->now)
            round_wait_until(r, deadline);
        else if (deadline && of_queue)
            end_waiting(s);
        else if (deadline)
            end_stream(s, RN_FINISH_LENGTH, "timeout");
    }
}

// Creates the sequences that a stream declared. If other streams hold all of them, one is preempted, or this one is queued again.
// With the lock held.
static void restore_seqs(rn_stream *s, int64_t now) {
    rn_engine *e = s->engine;
    const bool is_first = s->time.scheduled == 0;
    struct model_slot *lacking;
    rn_error err;
    rn_status st;
    do {
        err = (rn_error){0};
        mutex_unlock(&e->lock);
        st = stream_restore(s, &lacking, &err);
        mutex_lock(&e->lock);
    } while (st == RN_E_LIMIT && lacking && queue_make_room(e, lacking, s, now) && s->state != STREAM_QUEUED);
    if (s->state == STREAM_QUEUED) return;
    if (is_first && st == RN_OK && !stream_reads_prompt(s)) model_slot_count_prefix(s->model_slot, s);
    stream_show(s);
    if (st != RN_OK) end_failed(s, &err);
}

static void start_queued(rn_engine *e, int64_t now) {
    for (rn_stream *s; (s = queue_next(e, now));) {
        rn_error err = {0};
        queue_begin(s, now);
        mutex_unlock(&e->lock);
        const rn_status st = stream_schedule(s, &err);
        mutex_lock(&e->lock);
        if (st == RN_OK)
            restore_seqs(s, now);
        else
            end_failed(s, &err);
    }
}

// Reports prefill progress. Returns true if the caller's progress function stops the stream.
static bool report_prefill(rn_stream *s) {
    const int32_t done = stream_evaluated(s), target = stream_prefill_target(s);
    if (s->progress && s->progress(s->progress_user, RN_PHASE_PREFILL, (uint64_t)done, (uint64_t)target)) {
        s->end.cancel_why = "stopped by the progress callback";
        atomic_store(&s->cancelled, true);
        return true;
    }
    if (done == target && !s->time.prompt) s->time.prompt = clock_now_ns();
    return false;
}

static rn_status absorb_part(struct model_slot *l, const struct stream_rows *p, rn_error *err) {
    rn_stream *s = p->s;
    const struct row_results r = {l->lm, p->first, p->n, p->at};
    const struct emitter out = stream_emitter(s);
    rn_status st = RN_OK;
    if (p->fills == &s->play.seqs[STRATEGY_MAIN] && report_prefill(s)) return RN_OK;
    if (!p->fills) {
        stream_note_rows(l, p);
        s->play.n_helper_rounds = l == s->model_slot ? 0 : s->play.n_helper_rounds + 1;
    }
    if (p->absorbs) st = s->play.strategy->ops->absorb(s->play.strategy, &r, &out, err);
    // It may have truncated a sequence that was being filled.
    if (s->state == STREAM_PREFILL && !stream_filling(s, NULL)) {
        s->state = STREAM_DECODE;
        s->play.seqs_changed |= stream_waits_for_seqs(s);
    }
    return st;
}

// Strategies read their results on all pool threads if there are enough of them to make waking the pool worthwhile.
struct reading {
    struct model_slot *l;
    atomic_size_t next; // part
};

static void read_parts(void *ctx, int i_thread, int n_threads) {
    struct reading *r = ctx;
    struct model_slot *l = r->l;
    (void)i_thread, (void)n_threads;
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < l->n_parts;) {
        const struct stream_rows *p = &l->parts[i];
        strategy *s = p->s->play.strategy;
        const struct row_results results = {l->lm, p->first, p->n, p->at};
        if (p->absorbs && s->ops->read) s->ops->read(s, &results);
    }
}

size_t step_rows_read(const struct model_slot *l, size_t *n_parts) {
    size_t n_rows = 0;
    *n_parts = 0;
    for (const struct stream_rows *p = l->parts; p < l->parts + l->n_parts; p++) {
        if (!p->absorbs || !p->s->play.strategy->ops->read) continue;
        ++*n_parts;
        // Few of a prompt's rows are read, mostly the last one.
        for (size_t i = p->first; i < p->first + p->n; i++) n_rows += (l->rows[i].want & LM_WANT_RESULTS) != 0;
    }
    return n_rows;
}

static void read_results(rn_engine *e, struct model_slot *l) {
    struct reading r = {.l = l};
    size_t n;
    const size_t n_rows = step_rows_read(l, &n);
    if (n > 1 && n_rows * (size_t)l->lm->n_vocab >= e->min_parallel_read)
        pool_run_fitting(e->threads, read_parts, &r);
    else if (n > 0)
        read_parts(&r, 0, 1);
}

static void count_rows(const struct model_slot *l, const struct stream_rows *p) {
    for (size_t i = p->first; i < p->first + p->n; i++) p->s->play.n_rows += !lm_row_was_dropped(l->lm, i);
}

static rn_status evaluate(rn_engine *e, struct model_slot *l, size_t *failed_row, rn_error *err) {
    masks_ahead_begin(&e->masks_ahead, l);
    const rn_status st = lm_step(l->lm, l->rows, l->n_rows, failed_row, err);
    masks_ahead_end(&e->masks_ahead);
    return st;
}

// Called with the lock held; released while rows are evaluated and strategies run.
static void run_step(rn_engine *e, struct model_slot *l, int64_t now) {
    rn_error err = {0};
    size_t failed_row = 0;
    mutex_unlock(&e->lock);
    const int64_t t0 = clock_now_ns();
    rn_status st = package_check_files(l->m->pkg, &err);
    if (st == RN_OK && l->part && l->part->pkg) st = package_check_files(l->part->pkg, &err);
    if (st != RN_OK)
        failed_row = LM_ALL_ROWS;
    else
        st = l->n_rows > 0 ? evaluate(e, l, &failed_row, &err) : RN_OK;
    if (st == RN_OK) read_results(e, l);
    if (st == RN_OK)
        for (size_t i = 0; i < l->n_parts; i++) {
            count_rows(l, &l->parts[i]);
            rn_error e1 = {0};
            if (absorb_part(l, &l->parts[i], &e1) != RN_OK) {
                rn_stream *s = l->parts[i].s;
                snprintf(s->end.detail, sizeof s->end.detail, "%s", e1.text);
                s->end.status = e1.code;
                s->end.finish = RN_FINISH_ERROR;
            }
        }
    const int64_t took = clock_now_ns() - t0;
    mutex_lock(&e->lock);
    if (st == RN_OK) {
        draft_counts_count_step(l, took);
        if (l->n_rows > 0) step_time_learn(&l->step_time, l->n_decode_rows, l->n_rows - l->n_decode_rows, took);
        l->stats.n_steps += l->n_rows > 0;
        l->stats.n_rows += l->n_rows;
        l->stats.n_prompt_rows += l->n_rows - l->n_decode_rows;
    }
    if (st == RN_E_LIMIT && queue_make_room(e, l, NULL, now)) return; // the step is built anew
    for (size_t i = 0; i < l->n_parts; i++) {
        rn_stream *s = l->parts[i].s;
        l->parts[i].s = NULL; // the reader may free a stream that has ended
        const bool hit =
            st != RN_OK && (failed_row == LM_ALL_ROWS ||
                            (failed_row >= l->parts[i].first && failed_row < l->parts[i].first + l->parts[i].n));
        if (hit)
            end_failed(s, &err);
        else if (st == RN_OK && s->end.finish != RN_FINISH_NONE)
            end_stream(s, s->end.finish, s->end.detail);
        else {
            stream_show(s);
            l->parts[i].s = s;
        }
    }
    // Only now: a preempted stream must not have results left to absorb.
    for (size_t i = 0; i < l->n_parts; i++) {
        rn_stream *s = l->parts[i].s;
        if (s && s->play.seqs_changed && s->state != STREAM_QUEUED) restore_seqs(s, now);
    }
    model_slot_show(l);
}

typedef rn_status (*build_fn)(rn_engine *e, struct model_slot *l, struct round *r, rn_stream **culprit,
                              rn_error *err);

// One step of each model; false: nothing could run. With the lock held.
static bool step_each(rn_engine *e, struct round *r, build_fn build) {
    bool ran = false;
    for (size_t i = 0; i < e->n_model_slots; i++) {
        struct model_slot *l = &e->model_slots[i];
        rn_error err = {0};
        rn_stream *culprit = NULL;
        if (build(e, l, r, &culprit, &err) != RN_OK) {
            end_failed(culprit, &err);
            ran = true;
        } else if (l->n_parts > 0) { // also where strategies only have something left to emit
            run_step(e, l, r->now);
            ran = true;
        }
    }
    return ran;
}

// Helper models step as long as streams need their rows, then every model steps for its own streams. With the lock held.
static bool run_round(rn_engine *e, struct round *r) {
    bool ran = false;
    for (int n = 0; e->n_model_slots > 1 && n < STRATEGY_HELPER_ROUNDS && step_each(e, r, step_build_helpers); n++)
        ran = true;
    return step_each(e, r, step_build) || ran;
}

void *engine_step_thread(void *arg) {
    rn_engine *e = arg;
    const fp_mode mode = fp_mode_enter(); // strategies compute on this thread
    mutex_lock(&e->lock);
    for (;;) {
        struct round r;
        e->work = false;
        run_calls(e);
        round_begin(&r, clock_now_ns());
        end_due(e, &r);
        if (e->stopping) break;
        start_queued(e, r.now);
        round_look(e, &r);
        if (!run_round(e, &r))
            while (!e->work && !e->stopping)
                if (!condvar_wait(&e->wake, &e->lock, r.wait_until)) break;
    }
    run_calls(e);
    mutex_unlock(&e->lock);
    fp_mode_leave(mode);
    return NULL;
}
