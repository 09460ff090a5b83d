// serve/api/chat_turn.h - the library's request for an answer in a conversation, and how many tokens its prompt has.
//
// Threads: one at a time.
#ifndef RN_SERVE_API_CHAT_TURN_H
#define RN_SERVE_API_CHAT_TURN_H

#include "serve/api/chat_form.h"

// req points to the others, so a turn is not copied.
typedef struct chat_turn {
    rn_request req;
    generation_parts parts;
    rn_chat chat;
} chat_turn;

// The choice-th answer. False: r->error says why. What `g` and `form` hold stays theirs and outlives the turn.
bool chat_turn_make(chat_turn *t, api_request *r, const api_generation *g, chat_form *form, int32_t choice);

// Answers with {"object": OBJECT, "input_tokens": N}, the library's own count of the prompt, at the expense of the key's budget. object NULL:
// without it. False: nothing was answered yet, and r->error says why.
bool chat_turn_answer_count(http_exchange *x, api_request *r, const api_generation *g, chat_form *form,
                            const char *object);

#endif
