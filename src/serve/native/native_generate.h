// serve/native/native_generate.h - runnel's own generation interface: all of the C API, over HTTP and WebSockets.
//
// Ownership: `struct native_request` is the caller's; native_init() first, native_free() last.
// Threads:   one at a time.
#ifndef RN_SERVE_NATIVE_NATIVE_GENERATE_H
#define RN_SERVE_NATIVE_NATIVE_GENERATE_H

#include "serve/api/chat_form.h"
#include "serve/api/prompt_form.h"

typedef struct native_request {
    api_request r;
    api_generation g;
    prompt_form prompt;
    chat_form chat;
    const rn_part *parts; // [n_parts], of a route that makes its own prompt; NULL: the prompt or the messages
    size_t n_parts;
    bool token_times, with_pieces;
    bool accept_revisions; // of NATIVE_STREAM_GROUP
} native_request;

void native_init(native_request *q);
void native_free(native_request *q);
// Members of transports that stream runnel's own chunks, which say what they replace.
extern const member native_stream_rows[1];
#define NATIVE_STREAM_GROUP(q) {native_stream_rows, 1, (q)}

// more: the transport's own members, at most 2 groups. False: q->r.error holds the error.
bool native_read(native_request *q, const member_group *more, size_t n_more);
// NULL: q->r.error holds the error. format: the transport's; its `more` is a struct native_answer.
typedef struct native_answer {
    bool is_chat, has_token_times, has_pieces;
} native_answer;
job *native_begin(native_request *q, const job_format *format);
// With another `more`, which is freed by the format's free_more(), also after a failure.
job *native_begin_as(native_request *q, const job_format *format, void *more);
// Writes a chunk as members of the open JSON object.
void native_put_chunk(json_writer *w, job_part *p, const rn_chunk *c);

void route_generate(struct server *s, http_exchange *x, const http_request *r);
void route_session_delete(struct server *s, http_exchange *x,
                          const http_request *r); // DELETE /v1/runnel/sessions/NAME

#endif
