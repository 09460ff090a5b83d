// serve/anthropic/anthropic_input.h - Anthropic's messages, system prompt and tools, read into OpenAI's form, which templates know.
//
// Ownership: `struct anthropic_input` is the caller's; {0} is empty; anthropic_input_free().
// Threads:   one at a time.
#ifndef RN_SERVE_ANTHROPIC_ANTHROPIC_INPUT_H
#define RN_SERVE_ANTHROPIC_ANTHROPIC_INPUT_H

#include "app/sent_pictures.h"

typedef struct anthropic_input {
    bytes system;            // a text
    bytes messages, tools;   // items of an array
    sent_pictures *pictures; // receives those of the messages; the caller's
    bool has_system, has_messages;
    bool ends_with_answer;  // the last message is the assistant's: the beginning of the answer
    bool has_cache_control; // somewhere: usage then tells cached tokens apart
    bool has_strict_tools;
    bool is_unsupported; // what a reason is about is known, but not honoured
} anthropic_input;
void anthropic_input_free(anthropic_input *in);

// For `member` rows whose target is the anthropic_input: system (a value), messages and tools (arrays).
bool anthropic_each_system(void *input, size_t i, const char *key, const json_item *value, char *why);
bool anthropic_each_message(void *input, size_t i, const char *key, const json_item *value, char *why);
bool anthropic_each_tool(void *input, size_t i, const char *key, const json_item *value, char *why);

#endif
