// engine/queue.c - the queue of streams: admission, order by priority, preemption, limits.
//
// Queued streams begin by priority class. A class is raised by one for every RAISE_NS that it has waited for a turn, so no class starves.
// Within a class, preempted streams come first, then those of the client with the fewest running streams, then the oldest.
// Every function is called with the engine's lock held.
#include "base/clock.h"
#include "engine/engine.h"

#define RAISE_NS    INT64_C(10000000000)
#define QUEUE_CTX   4                   // default limit of queued prompt tokens, in contexts
#define MAX_RETRY_S 3600                // upper limit of retry_after_s
#define IDLE_GAP_NS INT64_C(1000000000) // a stream whose next token is due later than this is idle

// ---- order ----------------------------------------------------------------------------------------------------------

static size_t class_index(const rn_stream *s) { return (size_t)(s->turn.priority - RN_PRIORITY_LOW); }

struct levels {
    int64_t of[N_PRIORITIES];
};

static struct levels class_levels(const rn_engine *e, int64_t now) {
    struct levels l;
    int64_t since[N_PRIORITIES]; // when the class began to wait for a turn
    for (size_t i = 0; i < N_PRIORITIES; i++) since[i] = now;
    for (const rn_stream *s = e->streams; s; s = s->next) {
        const size_t i = class_index(s);
        const int64_t t = s->time.begin > e->class_turn[i] ? s->time.begin : e->class_turn[i];
        if (s->state == STREAM_QUEUED && t < since[i]) since[i] = t;
    }
    for (size_t i = 0; i < N_PRIORITIES; i++) l.of[i] = (int64_t)i + (now - since[i]) / RAISE_NS;
    return l;
}

static bool begins_before(const struct levels *l, const rn_stream *a, const rn_stream *b) {
    const int64_t level_a = l->of[class_index(a)], level_b = l->of[class_index(b)];
    if (level_a != level_b) return level_a > level_b;
    if (a->turn.priority != b->turn.priority) return a->turn.priority > b->turn.priority;
    if (a->turn.was_preempted != b->turn.was_preempted) return a->turn.was_preempted;
    if (a->turn.n_client_running != b->turn.n_client_running)
        return a->turn.n_client_running < b->turn.n_client_running;
    return a->time.begin < b->time.begin;
}

// An idle stream has begun and would make no token if it had a step now: it is paused, its reader does not take what it has, or its
// rate limit holds it back for long. Nobody waits for an idle stream, and it is the first to be preempted.
static bool is_idle(rn_stream *s, int64_t now) {
    if (atomic_load(&s->paused)) return true;
    if (s->time.next_token > now + IDLE_GAP_NS) return true;
    return s->overflow == RN_OVERFLOW_PARK && !outbox_has_room(&s->out);
}

static bool may_begin(rn_stream *s, int64_t now) {
    return s->state == STREAM_QUEUED && s->turn.no_room_at != now &&
           !(s->turn.was_preempted ? is_idle(s, now) : atomic_load(&s->paused));
}

// A preempted stream comes back when another one of its model ended, or when all that run are idle. Until then no other stream of
// the model begins, unless the preempted one is idle itself.
static bool model_slot_is_held(const rn_engine *e, const struct model_slot *l, int64_t now) {
    bool has_active = false, has_preempted = false;
    for (rn_stream *s = e->streams; s; s = s->next) {
        if (s->model_slot != l) continue;
        if (s->state != STREAM_QUEUED)
            has_active = has_active || !is_idle(s, now);
        else if (s->turn.was_preempted && s->turn.ended_when_preempted == l->n_ended)
            has_preempted = has_preempted || !is_idle(s, now);
    }
    return has_active && has_preempted;
}

rn_stream *queue_next(rn_engine *e, int64_t now) {
    rn_stream *first = NULL;
    bool held[ENGINE_MAX_SLOTS];
    if (e->n_queued == 0 || e->n_running >= e->opt.n_streams) return NULL;
    for (size_t i = 0; i < e->n_model_slots; i++) held[i] = model_slot_is_held(e, &e->model_slots[i], now);
    const struct levels l = class_levels(e, now);
    for (rn_stream *s = e->streams; s; s = s->next) {
        if (!may_begin(s, now) || held[s->model_slot - e->model_slots]) continue;
        if (!first || begins_before(&l, s, first)) first = s;
    }
    return first;
}

int32_t queue_position(rn_engine *e, const rn_stream *s) {
    const struct levels l = class_levels(e, clock_now_ns());
    int32_t n = 1;
    for (const rn_stream *t = e->streams; t; t = t->next)
        n += t != s && t->state == STREAM_QUEUED && begins_before(&l, t, s);
    return n;
}

// ---- transitions ----------------------------------------------------------------------------------------------------

static void count_mates(rn_stream *s, int32_t by) {
    if (s->turn.client == 0) return;
    for (rn_stream *t = s->engine->streams; t; t = t->next)
        if (t != s && t->turn.client == s->turn.client) t->turn.n_client_running += by;
}

void queue_add(rn_engine *e, rn_stream *s) {
    rn_stream **at = &e->streams;
    for (; *at; at = &(*at)->next)
        s->turn.n_client_running +=
            s->turn.client != 0 && (*at)->turn.client == s->turn.client && (*at)->state != STREAM_QUEUED;
    *at = s;
    s->state = STREAM_QUEUED;
    e->n_queued++;
}

void queue_begin(rn_stream *s, int64_t now) {
    rn_engine *e = s->engine;
    e->n_queued--;
    e->n_running++;
    e->class_turn[class_index(s)] = now;
    count_mates(s, 1);
    for (s->turn.slot = 0; e->slots[s->turn.slot];) s->turn.slot++;
    e->slots[s->turn.slot] = true;
    s->state = STREAM_PREFILL;
}

static void leave_batch(rn_stream *s) {
    s->engine->n_running--;
    s->engine->slots[s->turn.slot] = false;
    s->turn.slot = -1;
    count_mates(s, -1);
}

void queue_leave(rn_stream *s) {
    rn_engine *e = s->engine;
    const int64_t now = clock_now_ns();
    if (s->state == STREAM_QUEUED) {
        e->n_queued--;
    } else {
        leave_batch(s);
        if (e->t_ended && e->n_queued) running_median_add(&e->end_gap, (double)(now - e->t_ended));
        e->t_ended = e->n_queued ? now : 0;
    }
    for (rn_stream **at = &e->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
}

// ---- preemption -----------------------------------------------------------------------------------------------------

// Idle streams are preempted first, then the lowest class, then the stream that started last.
static bool yields_before(rn_stream *a, rn_stream *b, int64_t now) {
    const bool idle_a = is_idle(a, now);
    if (idle_a != is_idle(b, now)) return idle_a;
    if (a->turn.priority != b->turn.priority) return a->turn.priority < b->turn.priority;
    return a->time.begin > b->time.begin;
}

// Runs on the step thread, the only one that preempts.
bool queue_make_room(rn_engine *e, struct model_slot *l, const rn_stream *wants, int64_t now) {
    if (session_release_lru(e, l, NULL)) return true;
    rn_stream *victim = NULL;
    int n = 0;
    for (rn_stream *s = e->streams; s; s = s->next) {
        if (s->state == STREAM_QUEUED || (s != wants && !stream_holds(s, l))) continue;
        n++;
        if (!victim || yields_before(s, victim, now)) victim = s;
    }
    if (n < 2) return false;
    if (victim == wants) victim->turn.no_room_at = now;
    stream_suspend(victim);
    victim->turn.was_preempted = true;
    victim->turn.parked = false;
    victim->turn.ended_when_preempted = victim->model_slot->n_ended;
    leave_batch(victim);
    victim->state = STREAM_QUEUED;
    e->n_queued++;
    l->stats.n_preempted++;
    stream_show(victim);
    log_to(&e->log, LOG_DEBUG,
           "keys and values: full; a stream of %d tokens is preempted and will be evaluated again", victim->n_tokens);
    return true;
}

// ---- limits ---------------------------------------------------------------------------------------------------------

// Estimated nanoseconds until a running stream ends: the median time between recent ends while others waited. Before there are any,
// the time that the stream with the fewest tokens left needs to reach its limit.
static double until_one_ends(const rn_engine *e) {
    double least = 0.0;
    if (e->end_gap.n) return running_median_of(&e->end_gap);
    for (const rn_stream *s = e->streams; s; s = s->next) {
        if (s->state != STREAM_PREFILL && s->state != STREAM_DECODE) continue;
        const double ns = (double)(s->n_limit - s->n_prompt - s->shown.n_generated) *
                          step_time_ns(&s->model_slot->step_time, (size_t)e->n_running);
        if (least == 0.0 || ns < least) least = ns;
    }
    return least;
}

static rn_status say_busy(const rn_engine *e, rn_error *err, int32_t n_ends, const char *what, int64_t have,
                          int64_t limit) {
    const double s = until_one_ends(e) / 1e9 * n_ends + 0.5;
    const rn_status st = fail(err, RN_E_BUSY, "queue: full: %lld %s, limit %lld; %d streams run, %d wait",
                              (long long)have, what, (long long)limit, e->n_running, e->n_queued);
    if (err) err->retry_after_s = s < 1.0 ? 1 : s < MAX_RETRY_S ? (int32_t)s : MAX_RETRY_S;
    return st;
}

// The oldest queued streams, as many as there are free places, begin in the next round and do not count as waiting.
rn_status queue_check(rn_engine *e, const rn_stream *s, rn_error *err) {
    const int64_t limit = e->opt.n_queue_tokens ? e->opt.n_queue_tokens : (int64_t)QUEUE_CTX * s->model_slot->n_ctx;
    const int32_t n_free = e->opt.n_streams - e->n_running;
    if (e->n_queued < n_free) return RN_OK;
    if (e->n_queued - n_free >= e->opt.n_queue)
        return say_busy(e, err, e->n_queued - n_free - e->opt.n_queue + 1, "streams wait", e->n_queued - n_free,
                        e->opt.n_queue);
    int64_t n_tokens = 0;
    int32_t n_begin = n_free, n_ends = 0;
    for (const rn_stream *t = e->streams; t; t = t->next)
        if (t->state == STREAM_QUEUED && n_begin-- <= 0 && t->model_slot == s->model_slot) n_tokens += t->n_prompt;
    if (n_tokens + s->n_prompt <= limit) return RN_OK;
    int64_t left = n_tokens + s->n_prompt;
    for (const rn_stream *t = e->streams; t && left > limit; t = t->next)
        if (t->state == STREAM_QUEUED && t->model_slot == s->model_slot) left -= t->n_prompt, n_ends++;
    return say_busy(e, err, n_ends ? n_ends : 1, "prompt tokens would wait", n_tokens + s->n_prompt, limit);
}
