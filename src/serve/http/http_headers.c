// serve/http/http_headers.c - a request's headers, and a request as an object of its own, which outlives its exchange.
#include "app/memory.h"
#include "serve/http/http_inside.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_header(const http_request *r, const char *name) {
    const struct http_headers *const h = r->headers;
    if (h->mhd) return MHD_lookup_connection_value(h->mhd, MHD_HEADER_KIND, name);
    for (const char *at = h->copies.data, *const end = at + h->copies.n; at < end;) {
        const char *const value = at + strlen(at) + 1;
        if (strcasecmp(at, name) == 0) return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

typedef struct detached {
    http_request request; // first
    struct http_headers headers;
    bytes texts, body; // texts: method, path, query, id and client, terminated
} detached;

static enum MHD_Result copy_header(void *to, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    bytes_add(to, name, strlen(name) + 1);
    bytes_add(to, value ? value : "", value ? strlen(value) + 1 : 1);
    return MHD_YES;
}

http_request *request_detach(http_exchange *x) {
    http_request *const r = &x->request;
    const char **const texts[] = {&r->method, &r->path, &r->query, &r->id, &r->client};
    enum { N_TEXTS = sizeof texts / sizeof *texts };
    size_t at[N_TEXTS];
    detached *const d = app_alloc(sizeof *d);
    if (!d) return NULL;
    for (size_t i = 0; i < N_TEXTS; i++) {
        at[i] = d->texts.n;
        bytes_add(&d->texts, *texts[i], strlen(*texts[i]) + 1);
    }
    MHD_get_connection_values(x->conn->mhd, MHD_HEADER_KIND, copy_header, &d->headers.copies);
    if (memory_failed()) {
        request_free(&d->request);
        return NULL;
    }
    d->request = *r;
    d->body = x->body;
    x->body = (bytes){0};
    d->request.method = d->texts.data + at[0];
    d->request.path = d->texts.data + at[1];
    d->request.query = d->texts.data + at[2];
    d->request.id = d->texts.data + at[3];
    d->request.client = d->texts.data + at[4];
    d->request.headers = &d->headers;
    return &d->request;
}

void request_free(http_request *r) {
    detached *const d = (detached *)r;
    if (!d) return;
    bytes_free(&d->headers.copies);
    bytes_free(&d->texts);
    bytes_free(&d->body);
    free(d);
}
