// serve/http/http_exchange.c - a request from its head to the end of its answer.
//
// A request that is refused because of its head is answered after its body has been received and discarded: the connection goes on,
// and a client that is still sending does not see it broken. It is answered at once, and the connection closed, if the client waits
// with the body (`Expect: 100-continue`), or if the body is too large or is refused for what bodies hold together.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DISCARD_FACTOR = 2 };

http_exchange *exchange_begin(http_conn *c) {
    http_exchange *const x = app_alloc(sizeof *x);
    if (!x) return NULL;
    *x = (http_exchange){.conn = c, .begin_ns = now_ns()};
    x->request = (http_request){
        .path = "", .query = "", .body = "", .id = x->id, .client = x->client, .headers = &c->parser.head};
    memcpy(x->client, c->client, sizeof x->client);
    answer_make_id(x->id);
    c->x = x;
    atomic_fetch_add(&c->h->n_busy, 1);
    return x;
}

static bool is_decent_id(const char *id) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    const size_t n = id ? strlen(id) : 0;
    return n > 0 && n < ID_TEXT && strspn(id, allowed) == n;
}

static void refuse(http_exchange *x, const api_error *e) {
    if (x->is_refused) return;
    x->is_refused = true;
    x->refusal = *e;
    body_free(x);
}

// Answers before the request's end: false, as the parser's event.
static bool refuse_at_once(http_exchange *x) {
    conn_refuse(x->conn, &x->refusal);
    return false;
}

static bool expects_go_ahead(const http_exchange *x) {
    const char *const expect = http_header(&x->request, "Expect");
    return expect && !x->is_http_1_0 && strcasecmp(expect, "100-continue") == 0;
}

// Room for a body whose length is known.
static bool make_room(http_exchange *x, api_error *e) {
    const llhttp_t *const l = &x->conn->parser.llhttp;
    if (!(l->flags & F_CONTENT_LENGTH) || l->content_length == 0) return true;
    if (!body_reserve(x, l->content_length, e)) return false;
    if (bytes_reserve(&x->body, (size_t)l->content_length)) return true;
    memory_forget();
    return api_fail(e, API_OUT_OF_MEMORY, NULL, "body: the server is out of memory");
}

bool exchange_head(void *conn) {
    http_conn *const c = conn;
    http_exchange *const x = exchange_begin(c);
    api_error e;
    if (!x) {
        c->is_aborted = true;
        return false;
    }
    x->request.method = c->parser.head.method;
    x->is_http_1_0 = c->parser.head.minor == 0;
    const char *const id = http_header(&x->request, "x-request-id");
    if (is_decent_id(id)) memcpy(x->id, id, strlen(id) + 1);
    conn_phase_set(c, CONN_BODY);
    if (!head_check(x, &e)) {
        refuse(x, &e);
        if (expects_go_ahead(x) || x->is_body_hopeless) return refuse_at_once(x);
    } else if (!make_room(x, &e)) {
        refuse(x, &e);
        return refuse_at_once(x);
    } else if (expects_go_ahead(x))
        bytes_add_text(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

bool exchange_body(void *conn, const char *data, size_t n) {
    http_exchange *const x = ((http_conn *)conn)->x;
    const uint64_t limit = (uint64_t)x->conn->h->o->max_body_mib << 20;
    api_error e;
    x->n_received += n;
    if (x->is_refused)
        return x->n_received <= limit * DISCARD_FACTOR || x->conn->parser.n_chunks == 0 || refuse_at_once(x);
    if (x->n_received > limit)
        api_fail(&e, API_REQUEST_TOO_LARGE, NULL, "body: over the limit of %llu bytes (--max-body)",
                 (unsigned long long)limit);
    else if (body_add(x, data, n, &e))
        return true;
    refuse(x, &e);
    return refuse_at_once(x);
}

static bool is_ending(http_server *h) {
    pthread_mutex_lock(&h->lock);
    const bool is = h->is_ending;
    pthread_mutex_unlock(&h->lock);
    return is;
}

void exchange_run(http_exchange *x) {
    http_conn *const c = x->conn;
    api_error e;
    conn_phase_set(c, CONN_ANSWER);
    if (x->is_refused) {
        api_answer_error(x, &x->refusal);
        return;
    }
    x->request.body = x->body.data ? x->body.data : "";
    x->request.n_body = x->body.n;
    if (head_is_preflight(x))
        answer_preflight(x);
    else if (x->route->has_body)
        work_begin(x);
    else
        x->route->handle(c->h->server, x, &x->request);
    x->request.body = "", x->request.n_body = 0;
    body_free(x);
    if (x->kind == ANSWER_NONE) {
        api_fail(&e, API_INTERNAL_ERROR, NULL, "%s: the route gave no answer", x->request.path);
        api_answer_error(x, &e);
    }
    if (x->kind != ANSWER_EVENTS && x->kind != ANSWER_LATER) return;
    if (is_ending(c->h))
        c->is_aborted = true;
    else
        wait_pull(x);
}

void exchange_end(http_exchange *x, bool is_complete) {
    http_conn *const c = x->conn;
    c->x = NULL;
    if (x->source.gone) x->source.gone(x->self, is_complete);
    wait_forget(x); // after gone(): until it returns, others may wake the exchange
    log_exchange(x, is_complete);
    body_free(x);
    bytes_free(&x->pulled);
    free(x);
    atomic_fetch_sub(&c->h->n_busy, 1);
}
