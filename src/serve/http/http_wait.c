// serve/http/http_wait.c - answers that come later, whole or as an event stream: woken by other threads, pulled on this one.
//
// A source is pulled when everything before was sent, so a slow reader stops its own source. The bytes of one pull go out as one
// chunk.
#include "app/memory.h"
#include "app/progress.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdio.h>
#include <string.h>

void http_wake(http_exchange *x) {
    if (x->work) {
        work_wake(x->work);
        return;
    }
    http_server *const h = x->conn->h;
    pthread_mutex_lock(&h->lock);
    const bool is_new = !x->is_woken, is_first = !h->woken;
    if (is_new) {
        x->is_woken = true;
        x->next_woken = NULL;
        *(h->last_woken ? &h->last_woken->next_woken : &h->woken) = x;
        h->last_woken = x;
    }
    pthread_mutex_unlock(&h->lock);
    if (is_new && is_first) loop_ring(h);
}

void wait_forget(http_exchange *x) {
    http_server *const h = x->conn->h;
    http_exchange *before = NULL;
    pthread_mutex_lock(&h->lock);
    if (x->is_woken) {
        for (http_exchange *at = h->woken; at != x; at = at->next_woken) before = at;
        *(before ? &before->next_woken : &h->woken) = x->next_woken;
        if (h->last_woken == x) h->last_woken = before;
        x->is_woken = false;
    }
    pthread_mutex_unlock(&h->lock);
}

static void begin(http_exchange *x, answer_kind kind, const http_source *source, void *self) {
    x->kind = kind;
    x->source = *source;
    x->self = self;
    x->is_due = true; // the first pull needs no wake-up
    x->touched_ns = now_ns();
    if (memory_failed()) http_answer(x, 0, NULL, NULL, NULL, 0); // sends the out-of-memory answer
}

void http_answer_later(http_exchange *x, const http_source *source, void *self) {
    if (x->work) {
        work_answer_later(x->work, source, self);
        return;
    }
    begin(x, ANSWER_LATER, source, self);
}

void http_answer_events(http_exchange *x, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line)) {
    if (x->work) {
        work_answer_events(x->work, headers, source, self, ping);
        return;
    }
    const char *lines[16] = {"X-Accel-Buffering: no", "Cache-Control: no-cache"};
    for (size_t n = 2; headers && *headers && n < sizeof lines / sizeof *lines - 1; n++) lines[n] = *headers++;
    begin(x, ANSWER_EVENTS, source, self);
    if (x->kind != ANSWER_EVENTS) return;
    x->ping = ping;
    x->is_ping_due = true; // bytes go out at once, so that proxies pass the head on
    answer_head(x, 200, source->content_type ? source->content_type : "text/event-stream", lines, ANSWER_OPEN);
    if (strcmp(x->request.method, "HEAD") == 0) x->is_last = true, x->is_due = x->is_ping_due = false;
    if (memory_failed()) x->conn->is_aborted = true; // part of the head may be missing
}

void wait_probe(http_exchange *x) {
    http_conn *const c = x->conn;
    // Every HTTP/1.1 client skips interim responses (RFC 9110, section 15.2). `102 Processing` fits better, but Python's http.client
    // takes it for the answer. HTTP/1.0 has none: such a client gets its answer when it is ready.
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    x->is_probed = true;
    x->touched_ns = now_ns();
    if (x->kind == ANSWER_EVENTS)
        x->is_ping_due = true;
    else if (x->kind != ANSWER_LATER || x->is_http_1_0)
        return;
    else if (!conn_has_output(c))
        bytes_add(&c->out, interim, sizeof interim - 1);
    loop_ready(c);
}

static void add_ping(http_exchange *x) {
    if (x->source.content_type) return; // not an event stream
    bytes_add_text(&x->pulled, ": ping");
    if (x->ping) x->ping(x->self, &x->pulled);
    bytes_add_text(&x->pulled, "\n\n");
}

// Moves what was pulled to what is to be sent.
static void add_chunk(http_exchange *x) {
    bytes *const out = &x->conn->out;
    char size[24];
    const size_t n_size = (size_t)snprintf(size, sizeof size, "%zx\r\n", x->pulled.n);
    x->n_sent += x->pulled.n;
    x->touched_ns = now_ns();
    if (!x->is_http_1_0 && x->pulled.n) bytes_add(out, size, n_size);
    bytes_add(out, x->pulled.data, x->pulled.n);
    if (!x->is_http_1_0 && x->pulled.n) bytes_add(out, "\r\n", 2);
    if (!x->is_http_1_0 && x->is_last) bytes_add(out, "0\r\n\r\n", 5);
    x->pulled.n = 0;
}

void wait_pull(http_exchange *x) {
    http_conn *const c = x->conn;
    if (x->is_due) {
        x->is_due = false;
        const answer_kind kind = x->kind;
        const http_pull end = x->source.pull(x->self, x, &x->pulled);
        if (x->kind != kind) return; // it has answered, or become an event stream, whose first pull is due
        // After http_answer_later() an end without an answer closes the connection.
        if (end == HTTP_END && x->kind == ANSWER_LATER) c->is_aborted = true;
        x->is_last = end == HTTP_END;
        x->is_due = end == HTTP_MORE;
    }
    if (x->kind == ANSWER_EVENTS) {
        if (x->pulled.n == 0 && !x->is_last && x->is_ping_due) add_ping(x);
        x->is_ping_due = false;
        if (x->pulled.n || x->is_last) add_chunk(x);
        if (memory_failed()) c->is_aborted = true; // no memory for an error event either
    }
    if (c->half_closed_ns && !x->is_probed && !x->is_last) wait_probe(x);
    if (x->is_due) loop_ready(c);
}
