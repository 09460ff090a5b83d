// serve/jobs/stream_store.h - resumable streams: a client that reconnects with a stream's id gets the events it missed.
//
// A stream without a reader continues until the engine's buffer is full. It is cancelled after a grace period, and removed some
// time after its end. When the store is over its memory limit, ended streams without a reader are removed early, those closest to
// their expiry first; after that, each new event displaces the oldest events of its own stream.
//
// Ownership: the store owns the jobs in it. Threads: internally locked; an attached stream belongs to its reader.
#ifndef RN_SERVE_JOBS_STREAM_STORE_H
#define RN_SERVE_JOBS_STREAM_STORE_H

#include "serve/jobs/event_ring.h"
#include "serve/jobs/job.h"

typedef struct stream_limits {
    int32_t grace_seconds; // without a reader until the stream is cancelled
    int32_t held_seconds;  // after its end until it is removed
    size_t n_bytes;        // of all streams together; each counts KEPT_BYTES besides its events
} stream_limits;
enum { KEPT_BYTES = RING_EVENTS * sizeof(uint32_t) + 4096 }; // approximate size of a stream without its events

struct stream_store;
typedef struct kept_stream kept_stream;

struct stream_store *stream_store_open(const stream_limits *limits);
void stream_store_clear(struct stream_store *t);          // closes all jobs
void stream_store_close(struct stream_store *t);          // call when no other thread uses it any more
kept_stream *stream_keep(struct stream_store *t, job *j); // attached
job *kept_job(const kept_stream *k);
const event_ring *kept_events(const kept_stream *k);
uint64_t kept_next(const kept_stream *k); // the number of the next event
void kept_add(struct stream_store *t, kept_stream *k, const char *event, size_t n);
// id: "STREAM" or "STREAM.NUMBER". True: events after number *after are to be sent. False: e holds the error.
bool stream_attach(struct stream_store *t, const char *id, const char *last_event, uint64_t key, kept_stream **k,
                   uint64_t *after, api_error *e);
void stream_detach(struct stream_store *t, kept_stream *k, int64_t now_ns);
// Cancels a stream, with or without a reader. False: no stream has this id.
bool stream_store_cancel(struct stream_store *t, const char *id, uint64_t key);
// Removes the streams whose time is over, and those of revoked jobs as soon as they have no reader.
void stream_store_expire(struct stream_store *t, int64_t now_ns);

#endif
