// serve/ollama/ollama_request.h - what requests of Ollama's interface share: the model's name, options, think, keep_alive, logprobs.
//
// Ownership: `struct ollama_request` is the caller's; ollama_request_open() first, ollama_request_close() whatever came of it. What is
// read points into the request's document.
// Threads:   one at a time.
#ifndef RN_SERVE_OLLAMA_OLLAMA_REQUEST_H
#define RN_SERVE_OLLAMA_OLLAMA_REQUEST_H

#include "serve/api/chat_form.h"

typedef struct ollama_request {
    api_request r;
    api_generation g;
    chat_form chat;
    const char *old_name; // `name`, which `model` took the place of
    int32_t n_ctx;        // options.num_ctx; 0: not given
    bool has_logprobs;
    int32_t n_top;
    bool is_unsupported; // what a reason is about is known, but not honoured
} ollama_request;

bool ollama_request_open(ollama_request *q, struct server *s, const http_request *http);
void ollama_request_close(ollama_request *q);
// Reads the members: more are the route's own. Then finds the model, also with `:latest` behind its name, and checks options.
bool ollama_request_read(ollama_request *q, const member_group *more, size_t n_more, const api_refusals *refusals);
// Fills all of the library's request but its prompt.
bool ollama_request_apply(ollama_request *q, rn_request *req, generation_parts *parts);
bool ollama_find_model(api_request *r);
// Passes the rows of `options` to the listing.
void ollama_list_options(api_listing *l);

#endif
