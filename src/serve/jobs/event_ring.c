// serve/jobs/event_ring.c - see event_ring.h.
#include "serve/jobs/event_ring.h"
#include "app/say.h"
#include <stdlib.h>

size_t event_ring_bytes(const event_ring *r) { return r->text.n - r->n_dead; }

bool event_ring_drop_oldest(event_ring *r) {
    if (r->n_dropped == r->n_added) return false;
    r->n_dead += r->sizes[r->n_dropped++ % RING_EVENTS];
    if (r->n_dead > r->text.n / 2) {
        bytes_drop_front(&r->text, r->n_dead);
        r->n_dead = 0;
    }
    return true;
}

void event_ring_add(event_ring *r, const char *event, size_t n) {
    if (!r->sizes) r->sizes = app_alloc(RING_EVENTS * sizeof *r->sizes);
    if (r->n_added - r->n_dropped == RING_EVENTS) event_ring_drop_oldest(r);
    const size_t n_before = r->text.n;
    if (r->sizes) bytes_add(&r->text, event, n);
    if (r->text.n != n_before + n) { // no memory: a client that reconnects finds no events rather than a gap
        r->n_dropped = ++r->n_added;
        r->n_dead = r->text.n = 0;
        return;
    }
    r->sizes[r->n_added++ % RING_EVENTS] = (uint32_t)n;
    while (event_ring_bytes(r) > RING_BYTES && event_ring_drop_oldest(r)) {
    }
}

bool event_ring_after(const event_ring *r, uint64_t after, const char **events, size_t *n) {
    if (after < r->n_dropped) return false;
    size_t at = r->n_dead;
    for (uint64_t i = r->n_dropped; i < after; i++) at += r->sizes[i % RING_EVENTS];
    *events = r->text.n ? r->text.data + at : "";
    *n = r->text.n - at;
    return true;
}

void event_ring_free(event_ring *r) {
    bytes_free(&r->text);
    free(r->sizes);
    *r = (event_ring){0};
}
