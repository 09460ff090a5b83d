// engine/scheduler.c - the step thread: rows of all streams in one batch, decode rows before prompt chunks, then each strategy absorbs.
//
// A round: calls of other threads; streams that were cancelled end; queued ones start while there is room; for each model one step.
// When keys and values run out, idle sessions give their pages back, then the stream that began last is preempted: it loses its pages
// and later evaluates its tokens again, which by design.md section 6 gives the same bits.
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine.h"
#include <math.h>
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

// With the lock held; a call runs without it.
static void run_calls(rn_engine *e) {
    while (e->calls) {
        struct engine_call *c = e->calls;
        e->calls = c->next;
        if (!e->calls) e->calls_end = &e->calls;
        mutex_unlock(&e->lock);
        c->fn(c->ctx);
        mutex_lock(&e->lock);
        c->done = true;
        condvar_broadcast(&e->changed);
    }
}

// Takes a stream out of the list and tells its reader. With the lock held; it is let go while the outbox is written.
static void end_stream(rn_stream *s, rn_finish why, const char *detail) {
    rn_engine *e = s->engine;
    if (s->state == STREAM_QUEUED)
        e->n_queued--;
    else
        e->n_running--;
    for (rn_stream **at = &e->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    mutex_unlock(&e->lock);
    stream_end(s, why, detail);
    mutex_lock(&e->lock);
    if (s->session) s->session->stream = NULL;
    s->lane->n_ended++;
    s->state = STREAM_ENDED;
    condvar_broadcast(&e->changed);
}

static void end_cancelled(rn_engine *e) {
    for (rn_stream *s = e->streams, *next; s; s = next) {
        next = s->next;
        if (atomic_load(&s->cancelled) || e->stopping)
            end_stream(s, RN_FINISH_CANCELLED, s->cancel_why ? s->cancel_why : "cancelled");
    }
}

static bool lane_is_idle(const rn_engine *e, const struct lane *l) {
    for (const rn_stream *s = e->streams; s; s = s->next)
        if (s->lane == l && s->state != STREAM_QUEUED) return false;
    return true;
}

// In order of beginning. A preempted stream comes back when another ended, and until then nobody of its model overtakes it.
static void start_queued(rn_engine *e) {
    const struct lane *held = NULL;
    for (rn_stream *s = e->streams, *next; s && e->n_running < e->opt.n_streams; s = next) {
        rn_error err = {0};
        next = s->next;
        if (s->state != STREAM_QUEUED || atomic_load(&s->paused) || s->lane == held) continue;
        if (s->was_preempted && s->ended_when_preempted == s->lane->n_ended && !lane_is_idle(e, s->lane)) {
            held = s->lane;
            continue;
        }
        e->n_queued--;
        e->n_running++;
        s->state = STREAM_PREFILL;
        mutex_unlock(&e->lock);
        const rn_status st = stream_schedule(s, &err);
        mutex_lock(&e->lock);
        if (st != RN_OK) end_stream(s, RN_FINISH_ERROR, err.text);
    }
}

// May the stream have rows in the next step? *wait_until: earliest time at which a paced stream may.
static bool may_run(rn_stream *s, int64_t now, int64_t *wait_until) {
    s->parked = false;
    if (s->state == STREAM_QUEUED || atomic_load(&s->paused)) return false;
    if (s->state == STREAM_DECODE && s->t_next_token > now) {
        if (*wait_until < 0 || s->t_next_token < *wait_until) *wait_until = s->t_next_token;
        return false;
    }
    if (s->on_row || s->embed || outbox_has_room(&s->out, 1, s->room_text)) return true;
    if (s->overflow == RN_OVERFLOW_DROP_OLDEST) {
        outbox_drop_oldest(&s->out, 1, s->room_text);
        return true;
    }
    if (s->overflow == RN_OVERFLOW_CANCEL) {
        s->cancel_why = "slow reader";
        atomic_store(&s->cancelled, true);
        s->engine->work = true; // the next round ends it, even when nothing else runs
        return false;
    }
    if (outbox_open_tokens(&s->out))
        outbox_close_chunk(&s->out); // a long stream_interval must not keep text from its reader
    s->parked = true;
    return false;
}

static void add_decode_rows(struct lane *l, rn_stream *s, rn_error *err, rn_status *st) {
    struct row_list list = {l->rows + l->n_rows, 0, (size_t)l->lm->n_batch - l->n_rows};
    if (list.cap == 0 || l->n_logits == (size_t)l->lm->n_logits) {
        l->crowded = true;
        return;
    }
    if ((*st = s->strategy->ops->propose(s->strategy, &list, err)) != RN_OK) return;
    l->parts[l->n_parts++] = (struct stream_rows){s, l->n_rows, list.n, .absorbs = true};
    for (size_t i = 0; i < list.n; i++) l->n_logits += (list.rows[i].want & LM_WANT_LOGITS) != 0;
    l->n_rows += list.n;
}

static void add_prefill_rows(struct lane *l, rn_stream *s, size_t budget) {
    const int32_t done = stream_evaluated(s), target = stream_prefill_target(s);
    size_t n = (size_t)(target - done), room_logits = (size_t)l->lm->n_logits - l->n_logits;
    const bool first_run = s->n_tokens == s->n_prompt;
    if (n > budget - l->n_rows) n = budget - l->n_rows;
    if (s->on_row && n > room_logits) n = room_logits;
    const bool completes = done + (int32_t)n == target;
    const bool generates = !s->on_row && !s->embed;
    if (completes && first_run && generates && room_logits == 0 && n > 0)
        n--; // its last row waits for room among those with logits
    if (n == 0) return;
    const bool absorbs = done + (int32_t)n == target && first_run && generates;
    for (size_t i = 0; i < n; i++) {
        const int32_t at = done + (int32_t)i;
        const bool has_logits = s->on_row || (absorbs && i + 1 == n);
        const bool has_hidden = s->embed && embedding_reads(s->embed, at, s->n_prompt);
        // The same prompt, or a turn that goes on from it, is looked up as far as the row before its last.
        const bool kept = at + 2 == s->n_prompt;
        l->rows[l->n_rows + i] = (struct lm_row){s->seq, s->tokens[at], LM_APPEND,
                                                 (has_logits ? LM_WANT_LOGITS : 0) |
                                                     (has_hidden ? LM_WANT_HIDDEN : 0) | (kept ? LM_WANT_STATE : 0)};
        l->n_logits += has_logits;
    }
    l->parts[l->n_parts++] = (struct stream_rows){s, l->n_rows, n, absorbs, .from_prompt = true};
    l->n_rows += n;
}

// Streams decode first, in order of their age; then prompts, oldest first, up to the step's budget.
static rn_status build_step(rn_engine *e, struct lane *l, int64_t now, int64_t *wait_until, int32_t *n_parked,
                            rn_stream **culprit, rn_error *err) {
    rn_status st = RN_OK;
    l->n_rows = l->n_parts = l->n_logits = 0;
    l->crowded = false;
    for (int phase = 0; phase < 2 && st == RN_OK; phase++) {
        const size_t n_batch = (size_t)l->lm->n_batch, mixed = l->n_rows + ENGINE_MIXED_PREFILL;
        const size_t budget = phase && l->n_rows && mixed < n_batch ? mixed : n_batch;
        for (rn_stream *s = e->streams; s && st == RN_OK; s = s->next) {
            if (s->lane != l || s->state != (phase ? STREAM_PREFILL : STREAM_DECODE)) continue;
            if (!may_run(s, now, wait_until)) {
                *n_parked += s->parked;
                continue;
            }
            *culprit = s;
            if (phase == 0)
                add_decode_rows(l, s, err, &st);
            else if (l->n_rows < budget)
                add_prefill_rows(l, s, budget);
        }
    }
    return st;
}

static bool is_idle(const rn_stream *s) { return s->parked || atomic_load(&s->paused); }

// Idle sessions give pages back first, then the stream that waits for its reader, or else began last. false: nobody is left to ask.
// The lock is held; streams are only ever taken out by this thread, so the list is stable while it is let go.
static bool make_room(rn_engine *e, struct lane *l) {
    bool freed = false;
    session_give_back_lru(e, l, &freed);
    if (freed) return true;
    rn_stream *victim = NULL;
    int n = 0;
    for (rn_stream *s = e->streams; s; s = s->next) {
        if (s->lane != l || s->seq < 0 || s->state == STREAM_QUEUED) continue;
        n++;
        if (!victim || is_idle(s) > is_idle(victim) ||
            (is_idle(s) == is_idle(victim) && s->t_begin > victim->t_begin))
            victim = s;
    }
    if (n < 2) return false;
    stream_release_seq(victim, false);
    victim->was_preempted = true;
    victim->ended_when_preempted = l->n_ended;
    victim->state = STREAM_QUEUED;
    e->n_queued++;
    e->n_running--;
    e->stats.n_preempted++;
    log_to(&e->log, LOG_DEBUG, "keys and values: full, a stream of %d tokens waits and evaluates them again later",
           victim->n_tokens);
    return true;
}

static bool finite_row(const rn_engine *e, const float *logits, int32_t n) {
    return isfinite(e->kernels->row.max(logits, (size_t)n));
}

static rn_status absorb_score(rn_engine *e, struct lane *l, const struct stream_rows *p, rn_error *err) {
    rn_stream *s = p->s;
    const int32_t first = stream_evaluated(s) - (int32_t)p->n;
    for (size_t i = 0; i < p->n; i++) {
        const float *logits = lm_logits(l->lm, p->first + i);
        if (!finite_row(e, logits, l->lm->n_vocab))
            return s->read_status =
                       fail(err, RN_E_FORMAT, "logits at position %d are not finite", first + (int32_t)i);
        if (s->on_row(s->on_row_user, (size_t)first + i, logits, l->lm->n_vocab))
            return s->read_status =
                       fail(err, RN_E_CANCELLED, "stopped by the caller at position %d", first + (int32_t)i);
    }
    if (stream_evaluated(s) == s->n_prompt) s->finish = RN_FINISH_LENGTH;
    return RN_OK;
}

static rn_status absorb_part(rn_engine *e, struct lane *l, const struct stream_rows *p, rn_error *err) {
    rn_stream *s = p->s;
    if (s->on_row) return absorb_score(e, l, p, err);
    if (s->embed) return embedding_absorb(s, p, err);
    if (s->state == STREAM_PREFILL) {
        const int32_t done = stream_evaluated(s), target = stream_prefill_target(s);
        if (s->progress && s->progress(s->progress_user, RN_PHASE_PREFILL, (uint64_t)done, (uint64_t)target)) {
            s->cancel_why = "stopped by the progress callback";
            atomic_store(&s->cancelled, true);
            return RN_OK;
        }
        if (done < target) return RN_OK;
        s->state = STREAM_DECODE;
        if (!s->t_prompt) s->t_prompt = clock_now_ns();
        if (!p->absorbs) return RN_OK;
        if (s->n_tokens >= s->n_limit) { // max_tokens 0: the prompt is in the cache, nothing is generated
            snprintf(s->detail, sizeof s->detail, "max_tokens 0");
            s->finish = RN_FINISH_LENGTH;
            return RN_OK;
        }
    }
    // A prompt's answer is its last row; a strategy's are the rows it asked for.
    const bool prompt = p->from_prompt;
    const struct row_results r = {l->lm, prompt ? p->first + p->n - 1 : p->first, prompt ? 1 : p->n};
    return s->strategy->ops->absorb(s->strategy, &r, &(struct emitter){stream_emit, s}, err);
}

// Called with the lock held, which is let go while rows are evaluated and strategies run.
static void run_step(rn_engine *e, struct lane *l) {
    rn_error err = {0};
    size_t failed_row = 0;
    mutex_unlock(&e->lock);
    rn_status st = package_check_files(l->m->pkg, &err);
    const bool file_gone = st != RN_OK;
    if (st == RN_OK) st = lm_step(l->lm, l->rows, l->n_rows, &failed_row, &err);
    if (st == RN_OK)
        for (size_t i = 0; i < l->n_parts; i++) {
            rn_error e1 = {0};
            if (absorb_part(e, l, &l->parts[i], &e1) != RN_OK) {
                rn_stream *s = l->parts[i].s;
                snprintf(s->detail, sizeof s->detail, "%s", e1.text);
                s->finish = RN_FINISH_ERROR;
            }
        }
    mutex_lock(&e->lock);
    e->stats.n_steps++;
    e->stats.n_rows += l->n_rows;
    if (st == RN_E_LIMIT && make_room(e, l)) return; // the step is built anew
    for (size_t i = 0; i < l->n_parts; i++) {
        rn_stream *s = l->parts[i].s;
        const bool hit =
            st != RN_OK &&
            (file_gone || (failed_row >= l->parts[i].first && failed_row < l->parts[i].first + l->parts[i].n));
        if (hit)
            end_stream(s, RN_FINISH_ERROR, err.text);
        else if (st == RN_OK && s->finish != RN_FINISH_NONE)
            end_stream(s, s->finish, s->detail);
    }
}

// One round over all models; false: nothing could run. With the lock held.
static bool run_round(rn_engine *e, int64_t *wait_until) {
    bool ran = false;
    int32_t n_parked = 0;
    *wait_until = -1;
    for (size_t i = 0; i < e->n_lanes; i++) {
        struct lane *l = &e->lanes[i];
        rn_error err = {0};
        rn_stream *culprit = NULL;
        if (build_step(e, l, clock_now_ns(), wait_until, &n_parked, &culprit, &err) != RN_OK) {
            end_stream(culprit, RN_FINISH_ERROR, err.text);
            ran = true;
        } else if (l->n_rows) {
            run_step(e, l);
            ran = true;
        }
    }
    e->stats.n_parked = n_parked;
    return ran;
}

// Streams that decode take turns at the head of the list when a step cannot hold all of them.
static void rotate(rn_engine *e) {
    rn_stream *first = e->streams;
    bool crowded = false;
    for (size_t i = 0; i < e->n_lanes; i++) crowded |= e->lanes[i].crowded;
    if (!crowded || !first->next) return;
    rn_stream *last = first;
    while (last->next) last = last->next;
    e->streams = first->next;
    first->next = NULL;
    last->next = first;
}

void *engine_step_thread(void *arg) {
    rn_engine *e = arg;
    const fp_mode mode = fp_mode_enter(); // strategies compute on this thread
    mutex_lock(&e->lock);
    for (;;) {
        int64_t wait_until;
        e->work = false;
        run_calls(e);
        end_cancelled(e);
        if (e->stopping) break;
        start_queued(e);
        if (!run_round(e, &wait_until))
            while (!e->work && !e->stopping)
                if (!condvar_wait(&e->wake, &e->lock, wait_until)) break;
        rotate(e);
    }
    run_calls(e);
    mutex_unlock(&e->lock);
    fp_mode_leave(mode);
    return NULL;
}
