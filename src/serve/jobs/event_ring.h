// serve/jobs/event_ring.h - a stream's last events, numbered from 1 without gaps, for clients that reconnect.
//
// Ownership: the caller's; {0} is empty; event_ring_free(). Threads: one at a time.
#ifndef RN_SERVE_JOBS_EVENT_RING_H
#define RN_SERVE_JOBS_EVENT_RING_H

#include "app/bytes.h"
#include <stdint.h>

enum { RING_EVENTS = 4096, RING_BYTES = 1 << 20 };

typedef struct event_ring {
    bytes text; // n_dead bytes of dropped events, then the events one after the other
    size_t n_dead;
    uint32_t *sizes; // [RING_EVENTS] bytes of each event, by number modulo RING_EVENTS; NULL before the first event
    uint64_t n_dropped, n_added;
} event_ring;

size_t event_ring_bytes(const event_ring *r); // bytes of the events it holds
void event_ring_add(event_ring *r, const char *event, size_t n);
bool event_ring_drop_oldest(event_ring *r); // false: it is empty
// The events after number `after` (at most n_added). False: some of them have been dropped.
bool event_ring_after(const event_ring *r, uint64_t after, const char **events, size_t *n);
void event_ring_free(event_ring *r);

#endif
