// engine/stream_state.c - state of streams and the engine for other threads, as of the end of the last step; under the lock.
#include "engine/engine.h"
#include "engine/public_structs.h"
#include <string.h>

_Static_assert(offsetof(rn_engine_stats, kv_pages) % sizeof(uint64_t) == 0, "counts are whole words");

void stream_show(rn_stream *s) {
    int32_t n_pages = 0;
    for (int32_t g = 0; s->play.seqs[0].seq >= 0 && g < model_program(s->model_slot->program)->n_groups; g++) {
        const struct lm_part part = lm_part(s->model_slot->lm, g, stream_evaluated(s));
        n_pages += part.n;
    }
    s->shown.n_evaluated = stream_evaluated(s);
    s->shown.n_generated = s->n_tokens - s->n_prompt;
    s->shown.n_pages = n_pages;
}

rn_status rn_stream_get_state(rn_stream *stream, rn_stream_state *state, rn_error *err) {
    static const rn_stream_phase phases[] = {[STREAM_NEW] = RN_STREAM_QUEUED,
                                             [STREAM_QUEUED] = RN_STREAM_QUEUED,
                                             [STREAM_PREFILL] = RN_STREAM_PREFILL,
                                             [STREAM_DECODE] = RN_STREAM_DECODE,
                                             [STREAM_ENDED] = RN_STREAM_ENDED};
    if (!stream) return fail(err, RN_E_ARG, "rn_stream_get_state: NULL argument");
    const rn_status st = sized_check(&public_stream_state, state, err);
    if (st != RN_OK) return st;
    rn_engine *e = stream->engine;
    mutex_lock(&e->lock);
    const enum stream_state at = stream->state;
    const int64_t n_made = stream->shown.n_generated, n_prompt = stream->n_prompt;
    const rn_stream_state own = {
        .phase = phases[at],
        .is_paused = atomic_load(&stream->paused),
        .is_parked = stream->turn.parked && at != STREAM_ENDED,
        .was_preempted = stream->turn.was_preempted,
        .queue_position = at == STREAM_QUEUED ? queue_position(e, stream) : 0,
        .slot = stream->turn.slot,
        .n_prompt = n_prompt,
        .n_evaluated = stream->shown.n_evaluated,
        .n_to_evaluate = n_made ? n_prompt + n_made - 1 : n_prompt,
        .n_generated = n_made,
        .kv_pages = stream->shown.n_pages,
    };
    mutex_unlock(&e->lock);
    sized_write(&public_stream_state, &own, state);
    return RN_OK;
}

const char *rn_stream_phase_name(rn_stream_phase p) {
    static const char *const names[] = {"queued", "prefill", "decode", "ended"};
    return (unsigned)p < sizeof names / sizeof *names ? names[p] : "?";
}

// ---- the engine -----------------------------------------------------------------------------------------------------

void model_slot_show(struct model_slot *l) {
    struct kv_stats k;
    kv_stats_get(l->kv, &k);
    l->stats.kv_pages = k.n_pages;
    l->stats.kv_pages_free = k.n_free;
    l->stats.kv_pages_cached = k.n_cached;
    l->stats.states = k.n_states;
    l->stats.states_free = k.n_states - k.n_states_used - k.n_states_cached;
    l->stats.states_cached = k.n_states_cached;
    l->stats.n_evicted_pages = k.n_evicted;
}

rn_status rn_engine_get_step_time(rn_engine *engine, size_t model, size_t n_rows, rn_step_time *time, rn_error *err) {
    if (!engine || !time) return fail(err, RN_E_ARG, "rn_engine_get_step_time: NULL argument");
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    const rn_status st = sized_check(&public_step_time, time, err);
    if (st != RN_OK) return st;
    mutex_lock(&engine->lock);
    const struct step_time *const t = &engine->model_slots[model].step_time;
    rn_step_time own = {.struct_size = sizeof own,
                        .ms = step_time_ns(t, n_rows) / 1e6,
                        .prefill_row_ms = step_time_prefill_row_ns(t) / 1e6};
    mutex_unlock(&engine->lock);
    sized_write(&public_step_time, &own, time);
    return RN_OK;
}

static const char *const miss_names[RN_N_MISSES] = {"none",   "empty", "differs", "end",
                                                    "window", "state", "evicted", "logits"};

const char *rn_miss_name(rn_miss m) { return (unsigned)m < RN_N_MISSES ? miss_names[m] : "?"; }

void model_slot_count_prefix(struct model_slot *l, const rn_stream *s) {
    l->stats.prefix_queries += (uint64_t)s->n_prompt;
    l->stats.prefix_hits += (uint64_t)s->prefix.n_cached;
    l->stats.prefix_misses[s->prefix.miss] += (uint64_t)(s->n_prompt - s->prefix.n_cached);
}

// Every field but the first three is a sum over model slots of 64-bit numbers.
static void add_stats(rn_engine_stats *to, const rn_engine_stats *more) {
    enum { FIRST = offsetof(rn_engine_stats, kv_pages) / sizeof(uint64_t), END = sizeof *to / sizeof(uint64_t) };
    uint64_t a[END], b[END];
    memcpy(a, to, sizeof a);
    memcpy(b, more, sizeof b);
    for (size_t i = FIRST; i < END; i++) a[i] += b[i];
    memcpy((char *)to + offsetof(rn_engine_stats, kv_pages), &a[FIRST], sizeof a - FIRST * sizeof *a);
}

static void add_model_slot(rn_engine *e, const struct model_slot *l, rn_engine_stats *to) {
    add_stats(to, &l->stats);
    for (const rn_stream *s = e->streams; s; s = s->next) {
        if (s->model_slot != l) continue;
        to->n_queued += s->state == STREAM_QUEUED;
        to->n_running += s->state != STREAM_QUEUED;
        to->n_parked += s->state != STREAM_QUEUED && s->turn.parked;
    }
}

static void add_pictures(const rn_engine *e, size_t first, size_t n, rn_engine_stats *to) {
    for (size_t i = first; i < first + n; i++) {
        const struct model_slot *const l = &e->model_slots[i];
        struct vision_counts c;
        const bool is_shared = n > 1 && l->weights_of && l->weights_of->vision == l->vision;
        if (!l->vision || is_shared) continue;
        vision_get_counts(l->vision, &c);
        to->pictures_encoded += c.n_encoded, to->pictures_reused += c.n_found, to->picture_bytes += c.bytes;
    }
}

// Sums the statistics of n model slots starting at `first`.
static rn_status get_stats(rn_engine *e, size_t first, size_t n, rn_engine_stats *stats, rn_error *err) {
    rn_engine_stats own = {.struct_size = sizeof own};
    const rn_status st = sized_check(&public_engine_stats, stats, err);
    if (st != RN_OK) return st;
    mutex_lock(&e->lock);
    for (size_t i = first; i < first + n; i++) add_model_slot(e, &e->model_slots[i], &own);
    mutex_unlock(&e->lock);
    add_pictures(e, first, n, &own);
    sized_write(&public_engine_stats, &own, stats);
    return RN_OK;
}

rn_status rn_engine_get_stats(rn_engine *engine, rn_engine_stats *stats, rn_error *err) {
    if (!engine) return fail(err, RN_E_ARG, "rn_engine_get_stats: NULL argument");
    return get_stats(engine, 0, engine->n_models, stats, err);
}

rn_status rn_engine_get_model_stats(rn_engine *engine, size_t model, rn_engine_stats *stats, rn_error *err) {
    if (!engine) return fail(err, RN_E_ARG, "rn_engine_get_model_stats: NULL argument");
    if (model >= engine->n_models)
        return fail(err, RN_E_ARG, "model: %zu is outside 0..%zu", model, engine->n_models - 1);
    return get_stats(engine, model, 1, stats, err);
}
