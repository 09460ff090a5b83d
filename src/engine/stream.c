// engine/stream.c - the caller's side of a stream: submit, take chunks, cancel, pause, close.
#include "engine/engine.h"
#include "engine/public_structs.h"

// With the lock held. The step thread has nothing to do for a stream that has ended.
static void wake_for(rn_stream *s) {
    if (s->state != STREAM_ENDED) engine_wake(s->engine);
}

rn_status stream_submit(rn_stream *s, rn_error *err) {
    rn_engine *e = s->engine;
    rn_status st = RN_OK;
    mutex_lock(&e->lock);
    if (e->stopping)
        st = fail(err, RN_E_STATE, "engine: closing");
    else if ((st = queue_check(e, s, err)) == RN_OK) {
        queue_add(e, s);
        engine_wake(e);
    }
    mutex_unlock(&e->lock);
    return st;
}

rn_status rn_stream_begin(rn_engine *engine, const rn_request *req, rn_stream **stream, rn_error *err) {
    if (stream) *stream = NULL;
    if (!engine || !req || !stream) return fail(err, RN_E_ARG, "rn_stream_begin: NULL argument");
    rn_stream *s;
    struct own_request own;
    const struct strategy_kind *kind = NULL;
    rn_status st = own_request_read(req, &own, err);
    if (st == RN_OK) st = strategy_find_for_request(own.r.strategy, &kind, err);
    if (st == RN_OK) st = stream_create(engine, &own.r, kind, NULL, &s, err);
    if (st != RN_OK) return st;
    if ((st = stream_submit(s, err)) == RN_OK)
        *stream = s;
    else
        stream_destroy(s);
    return st;
}

rn_status rn_stream_next(rn_stream *stream, int64_t timeout_ns, rn_chunk *chunk, rn_error *err) {
    rn_chunk own;
    if (!stream) return fail(err, RN_E_ARG, "rn_stream_next: NULL argument");
    rn_status st = chunk_check(chunk, err);
    if (st == RN_OK) st = outbox_take(&stream->out, timeout_ns, &own);
    if (st != RN_OK) return st;
    mutex_lock(&stream->engine->lock);
    wake_for(stream); // it may have been parked
    mutex_unlock(&stream->engine->lock);
    if (stream->sequences && (st = stream_sequences_take(stream, &own, err)) != RN_OK) return st;
    if (stream->answer && (st = answer_read(stream->answer, &own, err)) != RN_OK) return st;
    if (stream->answer && own.finish_reason != RN_FINISH_NONE) // the step thread has done with it
        stream->end.usage.reasoning_tokens = answer_n_reasoning(stream->answer);
    stream->end.n_sequences_taken = own.n_sequences;
    chunk_write(&own, chunk);
    return RN_OK;
}

rn_status rn_stream_read_sequence(rn_stream *stream, size_t i, rn_chunk *chunk, rn_error *err) {
    if (!stream) return fail(err, RN_E_ARG, "rn_stream_read_sequence: NULL argument");
    rn_status st = chunk_check(chunk, err);
    if (st != RN_OK) return st;
    if (i >= stream->end.n_sequences_taken)
        return fail(err, RN_E_ARG, "rn_stream_read_sequence: answer %zu of %zu", i, stream->end.n_sequences_taken);
    rn_usage *const usage = &stream->end.of_sequence;
    rn_chunk own = {
        .replace_from = -1, .seed = stream->play.sampling.seed, .usage = usage, .timing = &stream->end.timing};
    if ((st = stream_sequence_read(stream, i, &own, err)) != RN_OK) return st;
    *usage = stream->end.usage;
    usage->completion_tokens = (int64_t)own.n_tokens;
    if (stream->answer && (st = answer_restart(stream->answer, err)) == RN_OK)
        st = answer_read(stream->answer, &own, err);
    if (st != RN_OK) return st;
    if (stream->answer) usage->reasoning_tokens = answer_n_reasoning(stream->answer);
    chunk_write(&own, chunk);
    return RN_OK;
}

void rn_stream_on_ready(rn_stream *stream, rn_ready_fn fn, void *user) {
    if (stream) outbox_on_ready(&stream->out, fn, user);
}

static void set_and_wake(rn_stream *s, atomic_bool *flag, bool value) {
    mutex_lock(&s->engine->lock);
    atomic_store(flag, value);
    wake_for(s);
    mutex_unlock(&s->engine->lock);
}

void rn_stream_cancel(rn_stream *stream) {
    if (stream) set_and_wake(stream, &stream->cancelled, true);
}
void rn_stream_pause(rn_stream *stream) {
    if (stream) set_and_wake(stream, &stream->paused, true);
}
void rn_stream_resume(rn_stream *stream) {
    if (stream) set_and_wake(stream, &stream->paused, false);
}

rn_status rn_stream_set_rate(rn_stream *stream, double max_tokens_per_second, rn_error *err) {
    int64_t gap_ns;
    if (!stream) return fail(err, RN_E_ARG, "rn_stream_set_rate: NULL argument");
    const rn_status st = stream_rate_gap(max_tokens_per_second, &gap_ns, err);
    if (st != RN_OK) return st;
    mutex_lock(&stream->engine->lock);
    atomic_store(&stream->time.token_gap_ns, gap_ns);
    wake_for(stream);
    mutex_unlock(&stream->engine->lock);
    return RN_OK;
}

void rn_stream_close(rn_stream *stream) {
    if (!stream) return;
    rn_engine *e = stream->engine;
    mutex_lock(&e->lock);
    atomic_store(&stream->cancelled, true);
    wake_for(stream);
    while (stream->state != STREAM_ENDED) condvar_wait(&e->changed, &e->lock, -1);
    mutex_unlock(&e->lock);
    stream_destroy(stream);
}

rn_status stream_read_all(rn_stream *s, const char *what, rn_chunk *last, rn_error *err) {
    const rn_status st = rn_stream_next(s, -1, last, err);
    if (st != RN_OK) return st;
    if (last->finish_reason == RN_FINISH_ERROR) return fail(err, last->error, "%s", last->finish_detail);
    if (last->finish_reason == RN_FINISH_CANCELLED)
        return fail(err, RN_E_CANCELLED, "%s: %s", what, last->finish_detail);
    return RN_OK;
}

static rn_status run_score(rn_stream *s, rn_error *err) {
    rn_chunk last;
    rn_chunk_init(&last);
    rn_status st = stream_submit(s, err);
    if (st != RN_OK) {
        stream_destroy(s);
        return st;
    }
    st = stream_read_all(s, "score", &last, err);
    rn_stream_close(s);
    return st;
}

rn_status rn_score(rn_engine *engine, size_t model, const int32_t *ids, size_t n_ids, rn_score_fn on_row, void *user,
                   rn_error *err) {
    rn_stream *s;
    if (!engine || !on_row) return fail(err, RN_E_ARG, "rn_score: NULL argument");
    const struct score_params params = {on_row, user};
    const rn_status st = stream_create_reader(engine, model, ids, n_ids, "score", &params, &s, err);
    return st == RN_OK ? run_score(s, err) : st;
}

rn_status rn_score_prompt(rn_engine *engine, const rn_request *req, rn_score_fn on_row, void *user, rn_error *err) {
    rn_stream *s;
    if (!engine || !req || !on_row) return fail(err, RN_E_ARG, "rn_score_prompt: NULL argument");
    const struct score_params params = {on_row, user};
    const rn_status st = stream_create_prompt_reader(engine, req, "score", &params, &s, err);
    return st == RN_OK ? run_score(s, err) : st;
}
