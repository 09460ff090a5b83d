// serve/http/http_body.c - bodies of requests, and what all of them hold together (--max-bodies).
//
// A body of known length reserves it before its first byte is read; one in chunks reserves what its buffer grows to. What a body
// reserves is given back as soon as its handler has returned, on whatever thread.
#include "app/memory.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include "serve/work/workers.h"

bool body_reserve(http_exchange *x, uint64_t n_bytes, api_error *e) {
    http_server *const h = x->conn->h;
    const uint64_t limit = (uint64_t)h->o->max_bodies_mib << 20;
    if (n_bytes <= x->n_reserved) return true;
    const metrics *const m = &h->server->metrics;
    // Answers that are being sent refuse large bodies only: one reader of a large answer must not stop everybody.
    const uint64_t n_more = n_bytes - x->n_reserved,
                   n_held = atomic_load(&m->n_body_bytes) +
                            (n_bytes >= WORK_LARGE_BYTES ? atomic_load(&m->n_answer_bytes) : 0);
    if (n_held > limit || n_more > limit - n_held) // only this thread adds to it
        return api_fail(
            e, API_SERVER_BUSY, NULL,
            "body: all bodies being received are over the limit of %d MiB together (--max-bodies); try again later",
            h->o->max_bodies_mib);
    x->n_reserved = n_bytes;
    atomic_fetch_add(&h->server->metrics.n_body_bytes, n_more);
    return true;
}

bool body_add(http_exchange *x, const char *data, size_t n, api_error *e) {
    // The buffer grows by doubling.
    uint64_t n_room = x->body.n_room;
    if (x->body.n + n + 1 > n_room) n_room = 2 * (uint64_t)(x->body.n + n + 1);
    if (x->n_reserved < x->body.n + n && !body_reserve(x, n_room, e)) return false;
    bytes_add(&x->body, data, n);
    if (!memory_failed()) return true;
    memory_forget();
    return api_fail(e, API_OUT_OF_MEMORY, NULL, "body: the server is out of memory");
}

// Large answers that are being sent count like bodies. They exist already, so they are not refused: new large bodies are.
void body_hold_answer(http_conn *c, bytes *body) {
    c->body = *body;
    *body = (bytes){0};
    atomic_fetch_add(&c->h->server->metrics.n_answer_bytes, c->body.n_room);
}

void body_drop_answer(http_conn *c) {
    atomic_fetch_sub(&c->h->server->metrics.n_answer_bytes, c->body.n_room);
    bytes_free(&c->body);
    c->n_body_taken = 0;
}

void body_free(http_exchange *x) {
    bytes_free(&x->body);
    atomic_fetch_sub(&x->conn->h->server->metrics.n_body_bytes, x->n_reserved);
    x->n_reserved = 0;
}
