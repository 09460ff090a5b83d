// serve/jobs/stream_store.c - see stream_store.h.
#include "serve/jobs/stream_store.h"
#include "app/numbers.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

struct kept_stream {
    kept_stream *next;
    job *job;
    event_ring events;
    bool is_attached, is_cancelled;
    int64_t until_ns; // when it is dropped; only while it is detached
};
struct stream_store {
    stream_limits limits;
    pthread_mutex_t lock;
    kept_stream *first;
    size_t n_bytes;
};

struct stream_store *stream_store_open(const stream_limits *limits) {
    struct stream_store *const t = app_alloc(sizeof *t);
    *t = (struct stream_store){.limits = *limits};
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

// Frees a stream that has been unlinked.
static void forget(struct stream_store *t, kept_stream *k) {
    t->n_bytes -= event_ring_bytes(&k->events) + KEPT_BYTES;
    job_close(k->job);
    event_ring_free(&k->events);
    free(k);
}

void stream_store_clear(struct stream_store *t) {
    pthread_mutex_lock(&t->lock);
    while (t->first) {
        kept_stream *const k = t->first;
        t->first = k->next;
        forget(t, k);
    }
    pthread_mutex_unlock(&t->lock);
}

void stream_store_close(struct stream_store *t) {
    stream_store_clear(t);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static bool has_ended(const kept_stream *k) { return !k->is_attached && k->is_cancelled; }

// With the lock held. Frees memory until the limit holds: drops the oldest ended streams, then old events. k is
// the stream that grows.
static void make_room(struct stream_store *t, kept_stream *k) {
    while (t->n_bytes > t->limits.n_bytes) {
        kept_stream **victim = NULL;
        for (kept_stream **at = &t->first; *at; at = &(*at)->next)
            if (has_ended(*at) && (!victim || (*at)->until_ns < (*victim)->until_ns)) victim = at;
        if (victim) {
            kept_stream *const gone = *victim;
            *victim = gone->next;
            forget(t, gone);
            continue;
        }
        const size_t held = event_ring_bytes(&k->events);
        if (!event_ring_drop_oldest(&k->events)) return;
        t->n_bytes -= held - event_ring_bytes(&k->events);
    }
}

kept_stream *stream_keep(struct stream_store *t, job *j) {
    kept_stream *const k = app_alloc(sizeof *k);
    if (!k) return NULL;
    *k = (kept_stream){.job = j, .is_attached = true};
    pthread_mutex_lock(&t->lock);
    k->next = t->first;
    t->first = k;
    t->n_bytes += KEPT_BYTES;
    make_room(t, k);
    pthread_mutex_unlock(&t->lock);
    return k;
}

job *kept_job(const kept_stream *k) { return k->job; }
const event_ring *kept_events(const kept_stream *k) { return &k->events; }
uint64_t kept_next(const kept_stream *k) { return k->events.n_added + 1; }

void kept_add(struct stream_store *t, kept_stream *k, const char *event, size_t n) {
    pthread_mutex_lock(&t->lock);
    const size_t before = event_ring_bytes(&k->events);
    event_ring_add(&k->events, event, n);
    t->n_bytes += event_ring_bytes(&k->events) - before;
    make_room(t, k);
    pthread_mutex_unlock(&t->lock);
}

static kept_stream *find(const struct stream_store *t, const char *id, size_t n_id, uint64_t key) {
    for (kept_stream *k = t->first; k; k = k->next)
        if (k->job->key == key && !atomic_load(&k->job->is_revoked) && strlen(k->job->id) == n_id &&
            memcmp(k->job->id, id, n_id) == 0)
            return k;
    return NULL;
}

// Reads "STREAM.NUMBER"; 0 for NULL or "". Returns false if it is malformed or belongs to another stream.
static bool read_number(const char *last_event, const char *id, size_t n_id, uint64_t *number) {
    char why[NUMBER_WHY];
    *number = 0;
    if (!last_event || !*last_event) return true;
    return strncmp(last_event, id, n_id) == 0 && last_event[n_id] == '.' &&
           number_read_u64(last_event + n_id + 1, number, why);
}

bool stream_attach(struct stream_store *t, const char *id, const char *last_event, uint64_t key, kept_stream **k,
                   uint64_t *after, api_error *e) {
    const size_t n_id = strlen(id);
    const char *events;
    size_t n;
    bool ok = true;
    if (!read_number(last_event, id, n_id, after))
        return api_fail(e, API_INVALID_VALUE, NULL, "Last-Event-ID: is not an event of this stream");
    pthread_mutex_lock(&t->lock);
    *k = find(t, id, n_id, key);
    if (!*k)
        ok = api_fail(e, API_STREAM_NOT_FOUND, NULL, "stream: no stream has this id, or it has expired");
    else if ((*k)->is_attached)
        ok = api_fail(e, API_STREAM_BUSY, NULL, "stream: another client reads it");
    else if (*after > (*k)->events.n_added)
        ok = api_fail(e, API_INVALID_VALUE, NULL, "Last-Event-ID: this stream has not reached this event yet");
    else if (!event_ring_after(&(*k)->events, *after, &events, &n))
        ok = api_fail(e, API_STREAM_EXPIRED, NULL, "stream: the events after this one are no longer kept");
    if (ok) (*k)->is_attached = true;
    pthread_mutex_unlock(&t->lock);
    return ok;
}

void stream_detach(struct stream_store *t, kept_stream *k, int64_t now_ns) {
    pthread_mutex_lock(&t->lock);
    k->is_attached = false;
    k->is_cancelled |= k->job->has_ended;
    k->until_ns = now_ns + (k->is_cancelled ? t->limits.held_seconds : t->limits.grace_seconds) * SECOND_NS;
    pthread_mutex_unlock(&t->lock);
}

bool stream_store_cancel(struct stream_store *t, const char *id, uint64_t key) {
    pthread_mutex_lock(&t->lock);
    kept_stream *const k = find(t, id, strlen(id), key);
    if (k) job_cancel(k->job);
    pthread_mutex_unlock(&t->lock);
    return k != NULL;
}

// With the lock held. Is it to be removed now? One whose time without a reader is over is cancelled first.
static bool is_over(const struct stream_store *t, kept_stream *k, int64_t now_ns) {
    if (k->is_attached) return false;
    if (atomic_load(&k->job->is_revoked)) return true;
    if (now_ns < k->until_ns) return false;
    if (k->is_cancelled) return true;
    job_cancel(k->job);
    k->is_cancelled = true;
    k->until_ns = now_ns + t->limits.held_seconds * SECOND_NS;
    return false;
}

void stream_store_expire(struct stream_store *t, int64_t now_ns) {
    pthread_mutex_lock(&t->lock);
    for (kept_stream **at = &t->first; *at;) {
        kept_stream *const k = *at;
        if (!is_over(t, k, now_ns)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        forget(t, k);
    }
    pthread_mutex_unlock(&t->lock);
}
