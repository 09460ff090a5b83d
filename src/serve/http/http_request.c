// serve/http/http_request.c - libmicrohttpd's callbacks for a request: its begin, head, body in pieces, and end.
//
// A request that is refused because of its head is answered after its body has been received and discarded: a
// client that is still sending would see a broken connection instead of the error. Two cases are answered at
// once: the client sent `Expect: 100-continue`, or the body's length is unknown or too large.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void *request_begin(void *user, const char *uri, struct MHD_Connection *mhd) {
    http_server *const h = user;
    const union MHD_ConnectionInfo *const info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    memory_forget();
    http_exchange *const x = info->socket_context ? app_alloc(sizeof *x) : NULL;
    char *const target = x ? app_copy_text(uri) : NULL;
    if (!target) { // request_continue() closes the connection
        free(x);
        return NULL;
    }
    *x = (http_exchange){.conn = info->socket_context, .target = target, .begin_ns = now_ns()};
    x->request.id = x->id;
    x->request.client = x->conn->client;
    memcpy(x->client, x->conn->client, sizeof x->client);
    answer_make_id(x->id);
    pthread_mutex_lock(&h->lock);
    x->conn->x = x;
    x->conn->n_body = 0;
    // The header timeout of a connection's first request counts from the connect.
    if (x->conn->phase == CONN_IDLE) x->conn->phase = CONN_HEADERS, x->conn->since_ns = x->begin_ns;
    h->n_busy++;
    pthread_mutex_unlock(&h->lock);
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
    bytes_free(&x->body);
}

static enum MHD_Result answer_refusal(http_exchange *x) {
    api_answer_error(x, &x->refusal);
    return x->is_unsendable ? MHD_NO : MHD_YES;
}

static enum MHD_Result first_call(http_exchange *x, const char *method, const char *version) {
    api_error e;
    x->is_head_read = true;
    x->request.method = method;
    x->request.path = x->request.query = "";
    x->headers.mhd = x->conn->mhd;
    x->request.headers = &x->headers;
    const char *const id = http_header(&x->request, "x-request-id"), *const expect =
                                                                         http_header(&x->request, "Expect");
    pthread_mutex_lock(&x->conn->h->lock); // the watcher may be sending this id to a slow client
    if (is_decent_id(id)) memcpy(x->id, id, strlen(id) + 1);
    pthread_mutex_unlock(&x->conn->h->lock);
    watch_phase(x->conn, CONN_BODY);
    if (head_check(x, version, &e)) return MHD_YES;
    refuse(x, &e);
    const bool is_asked = expect && strcasecmp(expect, "100-continue") == 0;
    return is_asked || x->is_body_hopeless ? answer_refusal(x) : MHD_YES;
}

static enum MHD_Result take_body(http_exchange *x, const char *data, size_t n) {
    http_server *const h = x->conn->h;
    const size_t limit = (size_t)h->o->max_body_mib << 20;
    api_error e;
    pthread_mutex_lock(&h->lock);
    const size_t n_body = x->conn->n_body += n;
    pthread_mutex_unlock(&h->lock);
    if (n_body > limit && !x->is_refused) {
        api_fail(&e, API_REQUEST_TOO_LARGE, NULL, "body: over the limit of %zu bytes (--max-body)", limit);
        refuse(x, &e);
    }
    if (!x->is_refused) bytes_add(&x->body, data, n);
    if (memory_failed()) {
        api_fail(&e, API_OUT_OF_MEMORY, NULL, "body: the server is out of memory");
        refuse(x, &e);
    }
    return n_body > limit * 2 ? MHD_NO : MHD_YES; // a chunked body that does not end
}

static enum MHD_Result dispatch(http_exchange *x) {
    api_error e;
    watch_phase(x->conn, CONN_ANSWER);
    if (x->is_refused) return answer_refusal(x);
    x->request.body = x->body.data ? x->body.data : "";
    x->request.n_body = x->body.n;
    if (head_is_preflight(x))
        answer_preflight(x);
    else if (x->route->has_body)
        work_begin(x);
    else
        x->route->handle(x->conn->h->server, x, &x->request);
    if (x->kind == ANSWER_LATER) return wait_pull(x);
    if (x->kind == ANSWER_NONE) {
        api_fail(&e, API_INTERNAL_ERROR, NULL, "%s: the route gave no answer", x->request.path);
        api_answer_error(x, &e);
    }
    return x->is_unsendable ? MHD_NO : MHD_YES;
}

enum MHD_Result request_continue(void *user, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *n_data, void **exchange) {
    http_exchange *const x = *exchange;
    (void)user, (void)mhd, (void)url;
    memory_forget();
    if (!x) return MHD_NO; // request_begin() ran out of memory
    if (!x->is_head_read) return first_call(x, method, version);
    if (*n_data) {
        const size_t n = *n_data;
        *n_data = 0;
        return take_body(x, data, n);
    }
    return x->kind == ANSWER_LATER ? wait_pull(x) : dispatch(x);
}

void request_end(void *user, struct MHD_Connection *mhd, void **exchange, enum MHD_RequestTerminationCode why) {
    http_server *const h = user;
    http_exchange *const x = *exchange;
    if (!x) return;
    memory_forget();
    pthread_mutex_lock(&h->lock);
    const bool is_complete = why == MHD_REQUEST_TERMINATED_COMPLETED_OK && x->status && !x->is_unsendable;
    x->conn->x = NULL;
    x->conn->phase = CONN_IDLE;
    x->conn->since_ns = now_ns();
    h->n_busy--;
    pthread_mutex_unlock(&h->lock);
    if (x->source.gone) x->source.gone(x->self, is_complete);
    log_exchange(x, is_complete);
    // The callback of an upgraded connection runs with libmicrohttpd's lock held.
    if (is_complete && x->kind != ANSWER_UPGRADE)
        MHD_set_connection_option(mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)h->o->idle_seconds);
    bytes_free(&x->body);
    bytes_free(&x->out);
    free(x->target);
    free(x);
    *exchange = NULL;
}
