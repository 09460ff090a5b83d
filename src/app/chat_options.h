// app/chat_options.h - the options of conversations, and the template and messages made of them.
//
// Ownership: `struct chat_options` is the caller's; chat_options_free().
// Threads:   one at a time.
#ifndef RN_APP_CHAT_OPTIONS_H
#define RN_APP_CHAT_OPTIONS_H

#include "app/bytes.h"
#include "app/options.h"
#include "app/pictures.h"
#include <runnel/runnel.h>

typedef struct chat_options {
    bool is_chat, show_reasoning;
    const char *system;                        // NULL: none
    const char *template_name, *output_format; // NULL: as the model's file says
    rn_template *tmpl;                         // once opened; NULL: the model's
} chat_options;

extern const option chat_turn_rows[3], chat_template_rows[2];
#define CHAT_TURN_GROUP(c)     {"Conversation", chat_turn_rows, 3, (c)}
#define CHAT_TEMPLATE_GROUP(c) {NULL, chat_template_rows, 2, (c)} // where conversations are possible at all

// name: a built-in template or a file. Returns an exit code; an error has been printed.
int chat_template_open(const char *name, rn_template **tmpl);
// Checks the output format, and opens the template, that the options name. Returns an exit code; an error has been printed.
int chat_options_open(chat_options *c);
void chat_options_free(chat_options *c);
// Adds one turn as JSON messages: the system message if there is one, and the user's text with pictures (NULL: none): in their places, where it
// has as many of these, which sorts them (pictures_find_places()), else before it.
void chat_add_messages(const chat_options *c, bytes *to, pictures *seen, const char *text, size_t n_text);
// Sets the template and the output format of a request's conversation.
void chat_options_apply(const chat_options *c, rn_chat *chat);

#endif
