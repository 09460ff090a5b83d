// serve/http/http_answer.c - whole answers, and the headers that every answer has.
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void answer_make_id(char *id) {
    unsigned char random[12];
    // getrandom() does not fail after boot; if it did, an id of zeros would do.
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) memset(random, 0, sizeof random);
    size_t n = (size_t)snprintf(id, ID_TEXT, "req-");
    for (size_t i = 0; i < sizeof random; i++) n += (size_t)snprintf(id + n, ID_TEXT - n, "%02x", random[i]);
}

static void add_lines(struct MHD_Response *response, const char *const *lines) {
    for (; lines && *lines; lines++) {
        char name[64];
        const char *const colon = strchr(*lines, ':');
        if (!colon || (size_t)(colon - *lines) >= sizeof name) continue;
        memcpy(name, *lines, (size_t)(colon - *lines));
        name[colon - *lines] = '\0';
        MHD_add_response_header(response, name, colon + 1 + strspn(colon + 1, " "));
    }
}

static void add_headers(http_exchange *x, struct MHD_Response *response, const char *content_type,
                        const char *const *lines) {
    const char *const allow[] = {x->allow, NULL};
    if (content_type) MHD_add_response_header(response, "Content-Type", content_type);
    MHD_add_response_header(response, "x-request-id", x->id);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (*x->allow) add_lines(response, allow);
    add_lines(response, lines);
    if (!x->origin) return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", x->origin);
    MHD_add_response_header(response, "Access-Control-Expose-Headers",
                            "x-request-id, x-runnel-stream, x-runnel-ignored, Retry-After");
    MHD_add_response_header(response, "Vary", "Origin");
}

bool answer_queue(http_exchange *x, int status, struct MHD_Response *response, const char *content_type,
                  const char *const *headers) {
    if (!response) return false;
    add_headers(x, response, content_type, headers);
    if (x->conn->is_surplus || x->is_body_hopeless) MHD_add_response_header(response, "Connection", "close");
    MHD_set_connection_option(x->conn->mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)x->conn->h->o->write_seconds);
    const bool is_queued = MHD_queue_response(x->conn->mhd, (unsigned)status, response) == MHD_YES;
    MHD_destroy_response(response);
    x->status = status;
    return is_queued;
}

// Replaces an answer when memory ran out. It is constant, so sending it allocates no body.
static const char no_memory[] =
    "{\"error\":{\"message\":\"memory: the server has none left for this request\",\"type\":\"server_error\",\"param\":null,"
    "\"code\":\"out_of_memory\"}}";

// is_taken: the body was allocated, and is freed when it has been sent.
static void answer_whole(http_exchange *x, int status, const char *content_type, const char *const *headers,
                         const void *body, size_t n_body, bool is_taken) {
    static const char *const retry[] = {"Retry-After: 1", NULL};
    if (memory_failed()) {
        if (is_taken) free((void *)(uintptr_t)body);
        is_taken = false;
        memory_forget();
        metrics_error(&x->conn->h->server->metrics, API_OUT_OF_MEMORY);
        status = api_http_status(API_OUT_OF_MEMORY), content_type = "application/json", headers = retry;
        body = no_memory, n_body = sizeof no_memory - 1;
    }
    struct MHD_Response *const response =
        MHD_create_response_from_buffer(n_body, n_body ? (void *)(uintptr_t)body : (void *)(uintptr_t) "",
                                        is_taken ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
    if (!response && is_taken) free((void *)(uintptr_t)body);
    x->kind = ANSWER_WHOLE;
    x->n_sent = n_body;
    x->is_unsendable = !answer_queue(x, status, response, content_type, headers);
}

void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body) {
    if (x->work)
        work_answer(x->work, status, content_type, headers, body, n_body);
    else
        answer_whole(x, status, content_type, headers, body, n_body, false);
}

void http_answer_bytes(http_exchange *x, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    if (x->work)
        work_answer_bytes(x->work, status, content_type, headers, body);
    else
        answer_whole(x, status, content_type, headers, body->data, body->n, body->n > 0);
    if (body->n == 0) bytes_free(body); // nothing that could be taken
    *body = (bytes){0};
}

void http_answer_json(http_exchange *x, int status, const bytes *body) {
    http_answer(x, status, "application/json", NULL, body->data, body->n);
}

// Answers the request that a browser sends before a page of another origin may send a key or JSON (Fetch
// standard, CORS-preflight).
void answer_preflight(http_exchange *x) {
    char wanted[1024];
    const char *const asked = http_header(&x->request, "Access-Control-Request-Headers");
    snprintf(wanted, sizeof wanted, "Access-Control-Allow-Headers: %s",
             asked && strlen(asked) < sizeof wanted / 2 ? asked : "Authorization, Content-Type");
    const char *const headers[] = {"Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS", wanted,
                                   "Access-Control-Max-Age: 600", NULL};
    http_answer(x, MHD_HTTP_NO_CONTENT, NULL, headers, NULL, 0);
}

struct server *http_exchange_server(const http_exchange *x) {
    return x->work ? work_server(x->work) : x->conn->h->server;
}
