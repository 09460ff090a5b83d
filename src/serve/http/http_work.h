// serve/http/http_work.h - a request's handler on a worker thread (serve/work/workers.h), or here if it is brief.
//
// The handler gets a stand-in for the exchange. What it answers is recorded, and applied on the HTTP thread after it has returned:
// the exchange itself waits with http_answer_later() meanwhile. If the client disconnects, a request that has not begun is dropped;
// one that has begun can ask work_is_given_up(), and its answer is dropped.
//
// Private to the files http_*.c. Threads: work_begin() on the HTTP thread; the others for the functions of http.h of the same name,
// which call them for a stand-in.
#ifndef RN_SERVE_HTTP_HTTP_WORK_H
#define RN_SERVE_HTTP_HTTP_WORK_H

#include "serve/http/http.h"

struct http_work;

// The request is whole and its route has a body: handles it here if it is brief, else hands it to a worker, or refuses it with 429
// when the queue is full.
void work_begin(http_exchange *x);

void work_answer(struct http_work *w, int status, const char *content_type, const char *const *headers,
                 const void *body, size_t n_body);
void work_answer_bytes(struct http_work *w, int status, const char *content_type, const char *const *headers,
                       bytes *body);
void work_answer_events(struct http_work *w, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line));
void work_answer_later(struct http_work *w, const http_source *source, void *self);
void work_wake(struct http_work *w);
struct server *work_server(const struct http_work *w);

#endif
