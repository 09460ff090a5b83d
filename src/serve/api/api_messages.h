// serve/api/api_messages.h - OpenAI's messages as the library takes them: parts of text joined, what is no text refused.
//
// Threads: one at a time.
#ifndef RN_SERVE_API_API_MESSAGES_H
#define RN_SERVE_API_API_MESSAGES_H

#include "app/json_read.h"

enum { MESSAGE_PARTS = 256 }; // the library has the same limit, but does not see parts that were joined here

// A member that must be a text. False: why begins with its name.
bool api_read_text(const json_item *object, const char *name, json_span *text, char *why);

typedef struct api_messages {
    bytes json; // items of the array; the caller's to free
    size_t n;
    bool has_unsupported; // what a reason is about is known, but not honoured
} api_messages;

// One message. False: why says what is wrong, where it is a part with its place: "content[1]: ...".
bool api_messages_add(api_messages *m, const json_item *message, char *why);
// Parts of text, one line each, as a JSON string.
bool api_messages_join(const json_item *parts, bytes *text, bool *has_unsupported, char *why);

#endif
