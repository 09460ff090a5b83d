// serve/http/http_headers.c - a request's headers, and a request as an object of its own, which outlives its exchange.
#include "app/memory.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *http_header(const http_request *r, const char *name) {
    return r->headers ? head_field(r->headers, name) : NULL;
}

typedef struct detached {
    http_request request; // first
    http_head head;       // a copy; path and query are parts of it
    char id[ID_TEXT], client[CLIENT_TEXT];
    bytes body;
    struct server *server;
    uint64_t n_reserved; // for the body (http_body.c)
} detached;

// The same place in the copy.
static const char *moved(const http_head *from, const http_head *to, const char *text) {
    return *text ? to->text.data + (text - from->text.data) : "";
}

http_request *request_detach(http_exchange *x) {
    const http_head *const head = &x->conn->parser.head;
    detached *const d = app_alloc(sizeof *d);
    if (!d) return NULL;
    *d = (detached){.request = x->request, .head = *head, .server = x->conn->h->server};
    d->head.text = d->head.fields = (bytes){0};
    bytes_add(&d->head.text, head->text.data, head->text.n);
    bytes_add(&d->head.fields, head->fields.data, head->fields.n);
    if (memory_failed()) {
        request_free(&d->request);
        return NULL;
    }
    memcpy(d->id, x->id, sizeof d->id);
    snprintf(d->client, sizeof d->client, "%s", x->request.client);
    d->request.path = moved(head, &d->head, x->request.path);
    d->request.query = moved(head, &d->head, x->request.query);
    d->request.id = d->id;
    d->request.client = d->client;
    d->request.headers = &d->head;
    d->body = x->body;
    d->n_reserved = x->n_reserved;
    x->body = (bytes){0};
    x->n_reserved = 0;
    return &d->request;
}

void request_free(http_request *r) {
    detached *const d = (detached *)r;
    if (!d) return;
    atomic_fetch_sub(&d->server->metrics.n_body_bytes, d->n_reserved);
    bytes_free(&d->head.text);
    bytes_free(&d->head.fields);
    bytes_free(&d->body);
    free(d);
}
