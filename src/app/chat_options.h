// app/chat_options.h - the options of conversations, and the template and messages made of them.
//
// Ownership: `struct chat_options` is the caller's; chat_options_free().
// Threads:   one at a time.
#ifndef RN_APP_CHAT_OPTIONS_H
#define RN_APP_CHAT_OPTIONS_H

#include "app/bytes.h"
#include "app/options.h"
#include <runnel/runnel.h>

typedef struct chat_options {
    bool is_chat, show_reasoning;
    const char *system;                        // NULL: none
    const char *template_wish, *output_format; // NULL: as the model's file says
    rn_template *tmpl;                         // once opened; NULL: the model's
} chat_options;

extern const option chat_turn_rows[3], chat_template_rows[2];
#define CHAT_TURN_GROUP(c)     {"Conversation", chat_turn_rows, 3, (c)}
#define CHAT_TEMPLATE_GROUP(c) {NULL, chat_template_rows, 2, (c)} // where conversations are possible at all

// A built-in template's name, or a file. Returns an exit code; what is wrong was said.
int chat_template_open(const char *wish, rn_template **tmpl);
// The template that is wished for, if one is.
int chat_options_open(chat_options *c);
void chat_options_free(chat_options *c);
// One turn: the system message if there is one, and what the user says.
void chat_add_messages(const chat_options *c, bytes *to, const char *text, size_t n_text);
// A request's conversation: template and format as the options say.
void chat_options_apply(const chat_options *c, rn_chat *chat);

#endif
