// serve/jobs/stream_store.h - jobs whose readers may come back: by id, with the events they missed, for a while (field.md 5.6).
//
// A stream without a reader goes on until the engine's buffer is full; after a time of grace it is cancelled, and forgotten a while after
// its end. When all hold too much together, streams that have ended and have no reader are forgotten before their time, those whose time
// comes first; then whoever says more loses its own oldest events.
//
// Ownership: a job that was kept is the store's. Threads: internally locked; an attached stream is its reader's alone.
#ifndef RN_SERVE_JOBS_STREAM_STORE_H
#define RN_SERVE_JOBS_STREAM_STORE_H

#include "serve/jobs/event_ring.h"
#include "serve/jobs/job.h"

typedef struct stream_limits {
    int32_t grace_seconds,
        held_seconds; // without a reader until it is cancelled; after its end until it is forgotten
    size_t n_bytes;   // of all streams together; each counts KEPT_BYTES besides its events
} stream_limits;
enum { KEPT_BYTES = RING_EVENTS * sizeof(uint32_t) + 4096 }; // about what a stream takes by itself

struct stream_store;
typedef struct kept_stream kept_stream;

struct stream_store *stream_store_open(const stream_limits *limits);
void stream_store_close(struct stream_store *t);          // gives all jobs back
kept_stream *stream_keep(struct stream_store *t, job *j); // attached
job *kept_job(const kept_stream *k);
const event_ring *kept_events(const kept_stream *k);
uint64_t kept_next(const kept_stream *k); // the number of the next event
void kept_add(struct stream_store *t, kept_stream *k, const char *event, size_t n);
// id: "STREAM" or "STREAM.NUMBER". False: e says why. Events after `after` are due.
bool stream_attach(struct stream_store *t, const char *id, const char *last_event, int32_t key, kept_stream **k,
                   uint64_t *after, api_error *e);
void stream_detach(struct stream_store *t, kept_stream *k, int64_t now_ns);
// Ends one that may have a reader. False: there is none of that id.
bool stream_store_cancel(struct stream_store *t, const char *id, int32_t key);
void stream_store_expire(struct stream_store *t, int64_t now_ns);

#endif
