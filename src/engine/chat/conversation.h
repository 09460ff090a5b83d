// engine/chat/conversation.h - messages as they were given: read, cut into turns, made into a template's values and rendered.
//
// Ownership: a struct conversation is the caller's and points into the request, which outlives it; conversation_free().
// Threads:   one at a time.
#ifndef RN_ENGINE_CHAT_CONVERSATION_H
#define RN_ENGINE_CHAT_CONVERSATION_H

#include "engine/chat/chat.h"
#include "formats/json/json_tree.h"

#define CHAT_MAX_MESSAGES 4096 // docs/limits.md
#define CHAT_MAX_PARTS    256  // of a message's content
#define CHAT_MAX_TOOLS    128

// chat_values.c: JSON as values, in an arena. What cannot be made is NULL, and `why` says the first reason.
struct chat_maker {
    struct arena *arena;
    rn_error why; // code RN_OK: nothing went wrong
};
struct template_value *chat_list(struct chat_maker *m, size_t n_items);
struct template_value *chat_dict(struct chat_maker *m, size_t n_items);
// Into a list or dictionary, if that and the value were made.
void chat_add(struct template_value *list, const struct template_value *item);
void chat_set(struct template_value *dict, const char *name, size_t n_name, const struct template_value *value);
const struct template_value *chat_text(struct chat_maker *m, const char *s, size_t n, bool is_markup);
const struct template_value *chat_value(struct chat_maker *m, const struct json_node *v, bool is_markup);
// A role is markup where it is a plain word: templates put control tokens together around it.
const struct template_value *chat_role(struct chat_maker *m, const struct json_node *v);
// A list of messages, as they are but for their roles.
const struct template_value *chat_messages_as_given(struct chat_maker *m, const struct json_node *list);
// The model's own tokens by name (bos_token ...), as markup, into a dictionary with room for CHAT_TOKEN_NAMES.
enum { CHAT_TOKEN_NAMES = 4 };
void chat_put_tokens(struct chat_maker *m, const struct vocab *v, struct template_value *dict);
bool chat_is_token_name(const char *name, size_t n); // is a variable of this name the model's own?

// chat_messages.c
struct conversation {
    const rn_chat *chat;
    const struct vocab *vocab;
    struct json_tree messages, tools, variables;
    const struct json_node **message; // [n_messages]
    int32_t n_messages;
    int32_t head;                     // messages of the system before the first turn
    struct call_arguments *arguments; // of tool calls, where they are texts that hold an object
    size_t n_arguments;
};
// How a rendering is to be made.
struct chat_way {
    int32_t cut_from, cut_to; // these messages are left out
    const char *marker;       // put behind what the last message says; NULL: nothing
    bool texts_stay;          // arguments of tool calls stay the texts that they are
    bool asks;                // the last message is left out, and the generation prompt stands in its place
};
// *c: zeroed; conversation_free() whatever comes back. Errors: RN_E_ARG (which message, what of it), RN_E_FORMAT, RN_E_LIMIT, RN_E_NOMEM.
rn_status conversation_read(const rn_chat *chat, const struct vocab *vocab, struct conversation *c, rn_error *err);
void conversation_free(struct conversation *c);
// Where the turns begin that may go, and those behind them: turns[0] is the first to go. Freed by the caller. The last turn is the
// last item, and stays.
rn_status conversation_turns(const struct conversation *c, rn_truncate how, int32_t **turns, size_t *n,
                             rn_error *err);
// The variables of a template, in the arena.
rn_status conversation_values(const struct conversation *c, const struct chat_way *way, struct arena *a,
                              const struct template_value **out, rn_error *err);
// What the last message says: the text that an answer goes on from. Empty where there is none.
struct vocab_str conversation_last_text(const struct conversation *c);

// chat_calls.c: arguments of tool calls that are texts
rn_status chat_calls_read(struct conversation *c, rn_error *err);
void chat_calls_free(struct conversation *c);
// A list of calls, with objects for texts.
const struct template_value *chat_calls_value(struct chat_maker *m, const struct conversation *c,
                                              const struct json_node *calls);

// chat_render.c: without messages [cut_from, cut_to)
rn_status conversation_render(const struct conversation *c, const rn_template *t, int32_t cut_from, int32_t cut_to,
                              struct template_output *out, rn_error *err);
// Also without the last message, whose place is asked for with the generation prompt.
rn_status conversation_render_open(const struct conversation *c, const rn_template *t, int32_t cut_from,
                                   int32_t cut_to, struct template_output *out, rn_error *err);

#endif
