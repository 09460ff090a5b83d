// serve/http/http_wait.c - asynchronous answers, whole or as an event stream. Connections are suspended while
// there is nothing to send.
//
// The thread that clears `is_waiting` resumes the suspended connection, so each suspension is resumed exactly
// once. A suspended connection is not freed. That is why its pointer may be used after the lock was released.
#include "app/memory.h"
#include "app/progress.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <string.h>

// Bytes per block of a stream to an HTTP/1.0 client; for others the connection's memory is the limit.
enum { EVENT_BLOCK = 16 << 10 };

static bool is_due(const http_exchange *x) { return x->is_woken || x->is_ping_due || x->is_gone; }

static struct MHD_Connection *take_back(http_exchange *x) {
    const bool is_mine = x->is_waiting;
    x->is_waiting = false;
    return is_mine ? x->conn->mhd : NULL;
}

bool wait_begin(http_exchange *x) {
    http_server *const h = x->conn->h;
    struct MHD_Connection *again = NULL;
    pthread_mutex_lock(&h->lock);
    if (h->is_ending) x->is_gone = true;
    const bool is_due_now = is_due(x);
    pthread_mutex_unlock(&h->lock);
    if (is_due_now) return false;
    MHD_suspend_connection(x->conn->mhd);
    pthread_mutex_lock(&h->lock);
    x->is_waiting = true;
    if (x->conn->half_closed_ns && !x->is_probed) watch_probe(x);
    if (h->is_ending) x->is_gone = true;
    if (is_due(x)) again = take_back(x);
    pthread_mutex_unlock(&h->lock);
    if (again) MHD_resume_connection(again);
    return true;
}

void http_wake(http_exchange *x) {
    if (x->work) {
        work_wake(x->work);
        return;
    }
    http_server *const h = x->conn->h;
    pthread_mutex_lock(&h->lock);
    x->is_woken = true;
    struct MHD_Connection *const again = take_back(x);
    pthread_mutex_unlock(&h->lock);
    if (again) MHD_resume_connection(again);
}

size_t wait_resume_due(http_server *h, struct MHD_Connection **due, size_t max) {
    size_t n = 0;
    for (http_conn *c = h->conns; c && n < max; c = c->next)
        if (c->x && c->x->is_waiting && is_due(c->x)) due[n++] = take_back(c->x);
    return n;
}

typedef struct wake {
    bool is_woken, is_ping_due, is_gone;
} wake;
static wake take_wake(http_exchange *x) {
    pthread_mutex_lock(&x->conn->h->lock);
    if (x->conn->h->is_ending) x->is_gone = true;
    const wake w = {x->is_woken, x->is_ping_due, x->is_gone};
    x->is_woken = x->is_ping_due = false;
    pthread_mutex_unlock(&x->conn->h->lock);
    return w;
}

static void begin(http_exchange *x, answer_kind kind, const http_source *source, void *self) {
    x->kind = kind;
    x->source = *source;
    x->self = self;
    pthread_mutex_lock(&x->conn->h->lock);
    x->is_woken = true; // the first pull needs no wake-up
    x->touched_ns = now_ns();
    pthread_mutex_unlock(&x->conn->h->lock);
}

void http_answer_later(http_exchange *x, const http_source *source, void *self) {
    if (x->work) {
        work_answer_later(x->work, source, self);
        return;
    }
    begin(x, ANSWER_LATER, source, self);
    if (memory_failed()) http_answer(x, 0, NULL, NULL, NULL, 0); // sends the out-of-memory answer
}

// Called when the request is complete, and again after each wait. The first call never suspends: libmicrohttpd
// would read the socket again on resuming and, if the client has closed its sending side (FIN), close the
// connection without an answer. Returning once lets libmicrohttpd record that there is no body left to read; it
// then calls again at once.
enum MHD_Result wait_pull(http_exchange *x) {
    for (bool has_more = false;;) {
        const wake w = take_wake(x);
        if (w.is_gone) return MHD_NO;
        if (w.is_woken || has_more) {
            const http_pull end = x->source.pull(x->self, x, &x->out);
            has_more = end == HTTP_MORE;
            if (x->kind != ANSWER_LATER) return x->is_unsendable ? MHD_NO : MHD_YES;
            if (end == HTTP_END) return MHD_NO; // ended without an answer: closes the connection
            if (has_more) continue;
        }
        if (!x->is_settled) {
            x->is_settled = true;
            return MHD_YES;
        }
        if (wait_begin(x)) return MHD_YES;
    }
}

static void add_ping(http_exchange *x) {
    bytes_add_text(&x->out, ": ping");
    if (x->ping) x->ping(x->self, &x->out);
    bytes_add_text(&x->out, "\n\n");
}

static size_t take_out(http_exchange *x, char *to, size_t max) {
    const size_t left = x->out.n - x->n_out_taken, n = left < max ? left : max;
    memcpy(to, x->out.data + x->n_out_taken, n);
    x->n_out_taken += n;
    x->n_sent += n;
    if (x->n_out_taken == x->out.n) x->out.n = x->n_out_taken = 0;
    pthread_mutex_lock(&x->conn->h->lock);
    x->touched_ns = now_ns();
    pthread_mutex_unlock(&x->conn->h->lock);
    return n;
}

// libmicrohttpd calls this when it has sent everything it was given before, so the source is not pulled while a
// slow reader catches up. The bytes of one pull go out as one write.
static ssize_t read_events(void *exchange, uint64_t at, char *to, size_t max) {
    http_exchange *const x = exchange;
    (void)at;
    memory_forget();
    while (x->out.n == 0) {
        if (x->is_last) return MHD_CONTENT_READER_END_OF_STREAM;
        const wake w = take_wake(x);
        if (w.is_gone) return MHD_CONTENT_READER_END_WITH_ERROR;
        if (w.is_woken || x->has_more) {
            const http_pull end = x->source.pull(x->self, x, &x->out);
            x->has_more = end == HTTP_MORE;
            x->is_last = end == HTTP_END;
        }
        if (x->out.n == 0 && !x->is_last && (w.is_ping_due || !x->has_begun)) add_ping(x);
        if (memory_failed()) return MHD_CONTENT_READER_END_WITH_ERROR; // no memory for an error event either
        x->has_begun = true; // the first bytes go out at once, so that proxies pass the head on
        if (x->out.n == 0 && !x->is_last && !x->has_more && wait_begin(x)) return 0;
    }
    return (ssize_t)take_out(x, to, max);
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
    x->ping = ping;
    if (memory_failed()) {
        http_answer(x, 0, NULL, NULL, NULL, 0); // sends the out-of-memory answer
        return;
    }
    struct MHD_Response *const response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BLOCK, read_events, x, NULL);
    x->is_unsendable = !answer_queue(x, MHD_HTTP_OK, response, "text/event-stream", lines);
}
