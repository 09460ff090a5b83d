// serve/http/http_work.c - see http_work.h.
#include "serve/http/http_work.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include "serve/work/workers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Two changes of thread take as long as a short body's request. A body of BRIEF_BYTES takes up to 3 ms; in a turn of the loop, which has
// up to 64 requests, workers get the rest once BRIEF_NS have passed.
enum { HEADERS_MAX = 16, BRIEF_BYTES = 4 << 10, BRIEF_NS = 5000000 };

// Owned by the exchange until it is gone or has taken over the answer's source, and by the worker while the handler runs.
struct http_work {
    work item; // first
    struct server *server;
    http_exchange stand_in;
    http_request *request;
    http_handler handle;
    pthread_mutex_t lock;
    http_exchange *x; // lock; NULL: gone
    // The answer: the handler's thread until it has returned, then the HTTP thread.
    answer_kind kind;
    bool lacks_memory, is_applied;
    int status;
    char *content_type, *headers[HEADERS_MAX + 1];
    bytes body;
    http_source source;
    void *self;
    void (*ping)(void *self, bytes *line);
    api_error refusal; // the queue was full
};

// ---- on the worker --------------------------------------------------------------------------------------------------

static void copy_headers(struct http_work *w, const char *const *headers) {
    for (size_t n = 0; headers && headers[n] && n < HEADERS_MAX; n++) w->headers[n] = app_copy_text(headers[n]);
}

void work_answer_bytes(struct http_work *w, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    w->kind = ANSWER_WHOLE;
    w->status = status;
    w->content_type = content_type ? app_copy_text(content_type) : NULL;
    copy_headers(w, headers);
    w->body = *body;
    *body = (bytes){0};
    w->lacks_memory = memory_failed(); // also of what the handler built
}

void work_answer(struct http_work *w, int status, const char *content_type, const char *const *headers,
                 const void *body, size_t n_body) {
    bytes copy = {0};
    bytes_add(&copy, body, n_body);
    work_answer_bytes(w, status, content_type, headers, &copy);
}

static void answer_by(struct http_work *w, answer_kind kind, const http_source *source, void *self) {
    w->kind = kind;
    w->source = *source;
    w->self = self;
    w->lacks_memory = memory_failed();
}

void work_answer_later(struct http_work *w, const http_source *source, void *self) {
    answer_by(w, ANSWER_LATER, source, self);
}

void work_answer_events(struct http_work *w, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line)) {
    copy_headers(w, headers);
    w->ping = ping;
    answer_by(w, ANSWER_EVENTS, source, self);
}

struct server *work_server(const struct http_work *w) { return w->server; }

void work_wake(struct http_work *w) {
    pthread_mutex_lock(&w->lock);
    if (w->x) http_wake(w->x);
    pthread_mutex_unlock(&w->lock);
}

static void run(work *item) {
    struct http_work *const w = (struct http_work *)item;
    if (!work_is_given_up()) w->handle(w->server, &w->stand_in, w->request);
}

static void done(work *item) { work_wake((struct http_work *)item); }

static void free_work(work *item) {
    struct http_work *const w = (struct http_work *)item;
    if (w->source.gone) w->source.gone(w->self, false);
    request_free(w->request);
    for (size_t i = 0; i <= HEADERS_MAX; i++) free(w->headers[i]);
    free(w->content_type);
    bytes_free(&w->body);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

// ---- on the HTTP thread ---------------------------------------------------------------------------------------------

// The recorded source, on behalf of which the exchange pulls from now on.
static http_pull pull_source(void *self, http_exchange *x, bytes *to) {
    struct http_work *const w = self;
    return w->source.pull(w->self, x, to);
}

static void ping_source(void *self, bytes *line) {
    struct http_work *const w = self;
    if (w->ping) w->ping(w->self, line);
}

static void gone(void *self, bool is_complete) {
    struct http_work *const w = self;
    pthread_mutex_lock(&w->lock);
    w->x = NULL;
    pthread_mutex_unlock(&w->lock);
    if (!w->is_applied) { // not even finished, perhaps
        workers_give_up(w->server->workers, &w->item);
        return;
    }
    if (w->source.gone) w->source.gone(w->self, is_complete);
    w->source.gone = NULL;
    free_work(&w->item);
}

static http_pull apply(struct http_work *w, http_exchange *x, bytes *to) {
    const http_source applied = {pull_source, gone, w->source.content_type};
    w->is_applied = true;
    request_free(w->request); // the body is no longer needed, and an answer may take long
    w->request = NULL;
    if (w->lacks_memory || (w->kind == ANSWER_NONE && w->refusal.message[0])) {
        api_answer_error(x, w->lacks_memory ? &api_no_memory : &w->refusal);
        return HTTP_END;
    }
    switch (w->kind) {
    case ANSWER_WHOLE:
        http_answer_bytes(x, w->status, w->content_type, (const char *const *)w->headers, &w->body);
        return HTTP_END;
    case ANSWER_EVENTS:
        http_answer_events(x, (const char *const *)w->headers, &applied, w, ping_source);
        return HTTP_WAIT;
    case ANSWER_LATER: return pull_source(w, x, to);
    default: break;
    }
    api_error e;
    api_fail(&e, API_INTERNAL_ERROR, NULL, "request: the route gave no answer");
    api_answer_error(x, &e);
    return HTTP_END;
}

static http_pull pull(void *self, http_exchange *x, bytes *to) {
    struct http_work *const w = self;
    if (w->is_applied) return pull_source(w, x, to);
    const bool is_due = w->refusal.message[0] || workers_is_done(w->server->workers, &w->item);
    return is_due ? apply(w, x, to) : HTTP_WAIT;
}

static bool is_brief(const http_exchange *x) {
    return x->route->is_brief && x->request.n_body <= BRIEF_BYTES && x->conn->h->brief_ns < BRIEF_NS;
}

// False: the handler has deferred the request.
static bool handle_here(http_exchange *x) {
    const int64_t begin_ns = now_ns();
    http_server *const h = x->conn->h;
    x->route->handle(h->server, x, &x->request);
    h->brief_ns += now_ns() - begin_ns;
    return !x->is_deferred;
}

bool http_defer(http_exchange *x) {
    x->is_deferred = !x->work;
    return x->is_deferred;
}

void work_begin(http_exchange *x) {
    static const http_source source = {pull, gone};
    if (is_brief(x) && handle_here(x)) return;
    struct http_work *const w = app_alloc(sizeof *w);
    http_request *const r = w ? request_detach(x) : NULL;
    int32_t retry_s = 0;
    if (!r) {
        free(w);
        api_answer_error(x, &api_no_memory);
        return;
    }
    *w = (struct http_work){.item = {.run = run, .done = done, .free = free_work},
                            .server = http_exchange_server(x),
                            .request = r,
                            .handle = x->route->handle,
                            .x = x};
    w->stand_in.work = w;
    w->stand_in.dialect = x->dialect;
    snprintf(w->stand_in.id, sizeof w->stand_in.id, "%s", x->id);
    pthread_mutex_init(&w->lock, NULL);
    if (!workers_add(w->server->workers, &w->item, work_queue_of(r->body, r->n_body, w->server->media_hosts.n > 0),
                     &retry_s)) {
        api_fail(&w->refusal, API_QUEUE_FULL, NULL, "server: too many requests wait to be read, try again in %d s",
                 retry_s);
        w->refusal.retry_after = retry_s;
    }
    http_answer_later(x, &source, w);
}
