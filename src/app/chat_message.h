// app/chat_message.h - collects the deltas of an answer (content, reasoning, tool calls) into a message, and writes it as JSON.
//
// Ownership: `struct chat_message` is the caller's; {0} is empty; chat_message_free().
// Threads:   one at a time.
#ifndef RN_APP_CHAT_MESSAGE_H
#define RN_APP_CHAT_MESSAGE_H

#include "app/bytes.h"
#include "app/json_write.h"
#include <runnel/stream.h>

typedef struct chat_call {
    char *name, *id; // id NULL: the model gave none
    bytes arguments; // text of JSON
    bool has_ended;
} chat_call;

typedef struct chat_message {
    bytes content, reasoning;
    chat_call *calls;
    size_t n_calls;
} chat_message;

void chat_message_add(chat_message *m, const rn_delta *delta);
void chat_message_free(chat_message *m);

// {"id", "name", "arguments"}; the arguments are a string, as the model wrote them.
void json_put_call(json_writer *w, const chat_call *call);
void json_put_tool_call(json_writer *w, const chat_call *call); // an item of a message's tool_calls
// The message as the next turn's request sends it back.
void json_put_message(json_writer *w, const chat_message *m);
void json_put_deltas(json_writer *w, const rn_delta *deltas, size_t n); // the items of the array only

#endif
