// serve/openai/responses.h - the routes of OpenAI's responses interface, and the parts of its answer.
//
// Threads: one at a time.
#ifndef RN_SERVE_OPENAI_RESPONSES_H
#define RN_SERVE_OPENAI_RESPONSES_H

#include "serve/api/chat_form.h"

void route_responses(struct server *s, http_exchange *x, const http_request *r);
void route_response_tokens(struct server *s, http_exchange *x, const http_request *r); // .../input_tokens
// One that is stored, and its input at .../input_items.
void route_response_get(struct server *s, http_exchange *x, const http_request *r);
void responses_answer_items(http_exchange *x, const http_request *r, const char *id, const bytes *messages);
void route_response_delete(struct server *s, http_exchange *x, const http_request *r);

// Fields of the request that the answer repeats.
typedef struct response_echo {
    char *instructions, *tools; // JSON; NULL: none. Owned
    char *effort, *verbosity;   // JSON
    char *format;               // JSON; NULL: text
    int32_t max_output_tokens;  // -1: no limit
    double temperature, top_p;  // NaN: not given
    char *tool_choice;          // JSON; NULL: auto. Owned
    bool one_call, truncates, is_stored;
    char *previous; // id; NULL: none. Owned
} response_echo;
void response_echo_free(response_echo *e);

// A job's `more`. response_answer_new() takes ownership of the echo's memory and of the conversation: messages as items of a JSON
// array, for the store.
typedef struct response_answer response_answer;
response_answer *response_answer_new(const response_echo *echo, bytes conversation);
extern const job_format response_stream_format, response_whole_format;

#endif
