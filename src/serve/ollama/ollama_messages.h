// serve/ollama/ollama_messages.h - Ollama's messages, read into OpenAI's form, which templates know.
//
// Threads: one at a time.
#ifndef RN_SERVE_OLLAMA_OLLAMA_MESSAGES_H
#define RN_SERVE_OLLAMA_OLLAMA_MESSAGES_H

#include "app/json_write.h"
#include "app/sent_pictures.h"

typedef struct ollama_messages {
    bytes json;                   // items of an array; the caller's to free
    size_t n, n_calls, n_results; // n_calls: of all messages; n_results: tool messages since the last call
    size_t first_call;            // number of the first call of the last message that has any
    bool ends_with_answer;        // the last message is the assistant's: the beginning of the answer
    sent_pictures *pictures;      // receives those of the messages; the caller's
} ollama_messages;

// For a `member` row with SHAPE_ARRAY whose target is the ollama_messages. Calls without an id get one, and the results that follow
// them the same ones in their order, since some templates want ids of nine letters and digits.
bool ollama_each_message(void *messages, size_t i, const char *key, const json_item *value, char *why);

// The member `images`: notes pictures as base64. place: before the names of its items.
bool ollama_add_images(sent_pictures *pictures, const json_item *images, const char *place, char *why);
// The member `content`, with so many pictures before its text.
void ollama_put_content(json_writer *w, size_t n_images, const json_span *text);

#endif
