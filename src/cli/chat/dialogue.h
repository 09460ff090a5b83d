// cli/chat/dialogue.h - the messages of a chat, as JSON for the library and as lines of a file.
//
// Ownership: `struct dialogue` owns its messages; {0} is empty; dialogue_free(). Threads: one at a time.
#ifndef RN_CLI_DIALOGUE_H
#define RN_CLI_DIALOGUE_H

#include "app/bytes.h"
#include "app/json_write.h"
#include <runnel/runnel.h>

typedef struct message {
    char role[16]; // "system", "user", "assistant"; messages loaded from a file may have others
    bytes content, reasoning;
    bytes name, call_id; // of a tool's result; empty: none
    bytes calls;         // tool calls: items of a JSON array, without its brackets; empty: none
    bytes pictures;      // before the content: parts of the type image_url, as the items of calls; empty: none
    rn_picture **seen;   // [n_seen] these, decoded; a video NULL where the dialogue has no model
    size_t n_seen;
} message;

typedef struct dialogue {
    message *items;
    size_t n, n_room;
    const rn_model *model; // that looks at its videos; NULL: they are kept as they are
} dialogue;

message *dialogue_add(dialogue *c, const char *role, const char *content, size_t n_content);
void dialogue_drop(dialogue *c, size_t from); // messages from..n
// Removes messages [from, from + n).
void dialogue_remove(dialogue *c, size_t from, size_t n);
void dialogue_free(dialogue *c);

message *dialogue_last(dialogue *c, const char *role); // the last message, when it has this role; else NULL
// Sets the system message, which is always the first. NULL text: removes it.
void dialogue_set_system(dialogue *c, const char *text);
const message *dialogue_system(const dialogue *c); // NULL: none

// Adds a picture, which the message then owns: url is the text of its data: URL.
void message_add_picture(message *m, rn_picture *p, const bytes *url, bool is_video);
void message_take_pictures(message *to, message *from); // to has none
void message_drop_pictures(message *m);
size_t dialogue_n_pictures(const dialogue *c);
// Writes OpenAI's message object, with its pictures.
void message_write(const message *m, json_writer *w);
// Writes an array of message objects. seen: [dialogue_n_pictures()] receives the pictures in their order, which are parts of the type image then, as
// rn_chat has them; NULL: they are written whole.
void dialogue_write(const dialogue *c, json_writer *w, const rn_picture **seen);
// Adds a message from such an object, as in a line of a saved chat. False: reason in why (JSON_WHY bytes of app/json_read.h).
bool dialogue_read_line(dialogue *c, const char *line, size_t n, char *why);
// Opens the videos that were read without a model. False: reason in why (JSON_WHY bytes); these stay closed.
bool dialogue_open_videos(dialogue *c, const rn_model *model, char *why);

#endif
