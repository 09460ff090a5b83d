// serve/http/http_answer.c - whole answers, and the headers that every answer has.
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { TAKEN_BYTES = 16 << 10 }; // from here on a body is sent from the handler's buffer instead of being copied

void answer_make_id(char *id) {
    static const char digits[] = "0123456789abcdef";
    unsigned char random[12];
    // getrandom() does not fail after boot; if it did, an id of zeros would do.
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) memset(random, 0, sizeof random);
    memcpy(id, "req-", 4);
    id += 4;
    for (size_t i = 0; i < sizeof random; i++) *id++ = digits[random[i] >> 4], *id++ = digits[random[i] & 15];
    *id = '\0';
}

// RFC 9110, section 15.
static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].status == status) return rows[i].reason;
    return "Other";
}

// A line with control characters, which a client may have put into a name that is echoed, is left out.
static void add_line(bytes *out, const char *line) {
    for (const char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) return;
    bytes_add_text(out, line);
    bytes_add(out, "\r\n", 2);
}

static void add_header(bytes *out, const char *name, const char *value) {
    bytes_add_text(out, name);
    bytes_add(out, ": ", 2);
    bytes_add_text(out, value);
    bytes_add(out, "\r\n", 2);
}

static const char *date_now(http_server *h) {
    const time_t now = time(NULL);
    struct tm utc;
    if (now != h->date_s) {
        h->date_s = now;
        gmtime_r(&now, &utc);
        strftime(h->date, sizeof h->date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    }
    return h->date;
}

static void add_cors(bytes *out, const char *origin) {
    add_header(out, "Access-Control-Allow-Origin", origin);
    add_header(out, "Access-Control-Expose-Headers", "x-request-id, x-runnel-stream, x-runnel-ignored, Retry-After");
    add_header(out, "Vary", "Origin");
}

void answer_head(http_exchange *x, int status, const char *content_type, const char *const *headers, int64_t n_body) {
    http_conn *const c = x->conn;
    bytes *const out = &c->out;
    char line[80];
    x->status = status;
    if (!c->parser.head.keeps_alive || x->is_body_hopeless || (x->is_http_1_0 && n_body == ANSWER_OPEN))
        c->is_closing = true;
    snprintf(line, sizeof line, "HTTP/1.1 %d %s", status, reason_of(status));
    add_line(out, line);
    add_header(out, "Date", date_now(c->h));
    if (n_body >= 0) {
        snprintf(line, sizeof line, "Content-Length: %" PRId64, n_body);
        add_line(out, line);
    } else if (n_body == ANSWER_OPEN && !x->is_http_1_0)
        add_line(out, "Transfer-Encoding: chunked");
    if (content_type) add_header(out, "Content-Type", content_type);
    if (c->is_closing)
        add_line(out, "Connection: close");
    else if (x->is_http_1_0)
        add_line(out, "Connection: keep-alive");
    add_header(out, "x-request-id", x->id);
    if (x->dialect == DIALECT_ANTHROPIC) add_header(out, "request-id", x->id);
    add_line(out, "X-Content-Type-Options: nosniff");
    if (*x->allow) add_line(out, x->allow);
    for (; headers && *headers; headers++) add_line(out, *headers);
    if (x->origin) add_cors(out, x->origin);
    bytes_add(out, "\r\n", 2);
}

// HEAD has the headers of GET; 304 those of 200 (RFC 9110, sections 9.3.2 and 15.4.5).
static bool has_no_body(const http_exchange *x, int status) {
    return status == 304 || (x->request.method && strcmp(x->request.method, "HEAD") == 0);
}

// own: the body as the caller's buffer, which is taken over if it is worth it; NULL: none.
static bool put(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                size_t n_body, bytes *own) {
    bytes *const out = &x->conn->out;
    const size_t begin = out->n;
    answer_head(x, status, content_type, headers, status == 204 ? ANSWER_BODILESS : (int64_t)n_body);
    x->n_sent = has_no_body(x, status) || status == 204 ? 0 : n_body;
    const bool is_taken = own && x->n_sent >= TAKEN_BYTES;
    if (!is_taken) bytes_add(out, body, x->n_sent);
    if (memory_failed()) {
        out->n = begin;
        return false;
    }
    if (is_taken) body_hold_answer(x->conn, own);
    return true;
}

static void answer_whole(http_exchange *x, int status, const char *content_type, const char *const *headers,
                         const void *body, size_t n_body, bytes *own) {
    static const char *const retry[] = {"Retry-After: 1", NULL};
    x->kind = ANSWER_WHOLE;
    if (!memory_failed() && put(x, status, content_type, headers, body, n_body, own)) return;
    memory_forget();
    metrics_error(&x->conn->h->server->metrics, API_OUT_OF_MEMORY);
    status = api_http_status(API_OUT_OF_MEMORY);
    // Constant, so that sending it allocates no body.
    const char *const text = api_no_memory_text(x->dialect);
    if (!put(x, status, "application/json", retry, text, strlen(text), NULL)) x->conn->is_aborted = true;
}

void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body) {
    if (x->work)
        work_answer(x->work, status, content_type, headers, body, n_body);
    else
        answer_whole(x, status, content_type, headers, body, n_body, NULL);
}

void http_answer_bytes(http_exchange *x, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    if (x->work)
        work_answer_bytes(x->work, status, content_type, headers, body);
    else
        answer_whole(x, status, content_type, headers, body->data, body->n, body);
    bytes_free(body);
}

void http_answer_json(http_exchange *x, int status, bytes *body) {
    http_answer_bytes(x, status, "application/json", NULL, body);
}

// Answers the request that a browser sends before a page of another origin may send a key or JSON (Fetch
// standard, CORS-preflight).
void answer_preflight(http_exchange *x) {
    char allowed[1024];
    const char *const wanted = http_header(&x->request, "Access-Control-Request-Headers");
    snprintf(allowed, sizeof allowed, "Access-Control-Allow-Headers: %s",
             wanted && strlen(wanted) < sizeof allowed / 2 ? wanted : "Authorization, Content-Type");
    const char *const headers[] = {"Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS", allowed,
                                   "Access-Control-Max-Age: 600", NULL};
    http_answer(x, 204, NULL, headers, NULL, 0);
}

const char *http_exchange_id(const http_exchange *x) { return x->id; }
int http_exchange_dialect(const http_exchange *x) { return (int)x->dialect; }
struct server *http_exchange_server(const http_exchange *x) {
    return x->work ? work_server(x->work) : x->conn->h->server;
}
