// serve/api/api_messages.h - OpenAI's messages as the library takes them: parts of text joined, pictures noted, all else refused.
//
// Threads: one at a time.
#ifndef RN_SERVE_API_API_MESSAGES_H
#define RN_SERVE_API_API_MESSAGES_H

#include "app/json_write.h"
#include "app/sent_pictures.h"

enum { MESSAGE_PARTS = 256 }; // the library has the same limit, but does not see parts that were joined here

// A member that must be a text. False: why begins with its name.
bool api_read_text(const json_item *object, const char *name, json_span *text, char *why);

typedef struct api_messages {
    bytes json; // items of the array; the caller's to free
    size_t n;
    sent_pictures *pictures; // receives those of the messages; NULL: they are refused
    bool has_unsupported;    // what a reason is about is known, but not honoured
} api_messages;

// One message. False: why says what is wrong, where it is a part with its place: "content[1]: ...".
bool api_messages_add(api_messages *m, const json_item *message, char *why);
// A content of parts with pictures among them as an array; false also where they are refused.
bool api_messages_has_pictures(const json_item *parts);
bool api_messages_put_parts(api_messages *m, const json_item *parts, json_writer *w, char *why);
// Parts of text, one line each.
bool api_messages_join(const json_item *parts, bytes *text, bool *has_unsupported, char *why);

#endif
