// engine/chat/conversation.h - a request's messages: reading, turns, conversion to template values, rendering.
//
// Ownership: the caller owns a struct conversation; it points into the request, which must outlive it; conversation_free().
// Threads:   one at a time.
#ifndef RN_ENGINE_CHAT_CONVERSATION_H
#define RN_ENGINE_CHAT_CONVERSATION_H

#include "engine/chat/chat.h"
#include "formats/json/json_tree.h"

#define CHAT_MAX_MESSAGES 4096 // docs/limits.md
#define CHAT_MAX_PARTS    256  // parts of a message's content
#define CHAT_MAX_TOOLS    128

// chat_values.c: converts JSON to values in an arena. Returns NULL on failure; `why` has the first reason.
struct chat_maker {
    struct arena *arena;
    rn_error why; // code RN_OK: no error
};
struct template_value *chat_list(struct chat_maker *m, size_t n_items);
struct template_value *chat_dict(struct chat_maker *m, size_t n_items);
// Add to a list or dictionary; do nothing if it or the value is NULL.
void chat_add(struct template_value *list, const struct template_value *item);
void chat_set(struct template_value *dict, const char *name, size_t n_name, const struct template_value *value);
const struct template_value *chat_text(struct chat_maker *m, const char *s, size_t n, bool is_markup);
const struct template_value *chat_value(struct chat_maker *m, const struct json_node *v, bool is_markup);
// A role that is a plain word is markup, since templates build control tokens around it.
const struct template_value *chat_role(struct chat_maker *m, const struct json_node *v);
// A list of messages, unchanged except for their roles.
const struct template_value *chat_messages_as_given(struct chat_maker *m, const struct json_node *list);
// Adds the model's own tokens by name (bos_token ...), as markup, to a dictionary with room for CHAT_TOKEN_NAMES.
enum { CHAT_TOKEN_NAMES = 4 };
void chat_put_tokens(struct chat_maker *m, const struct vocab *v, struct template_value *dict);
bool chat_is_token_name(const char *name, size_t n); // true for names of the model's own tokens

// chat_messages.c
struct conversation {
    const rn_chat *chat;
    const struct picture_marks *marks; // of a chat with pictures; set by the caller
    const struct vocab *vocab;
    struct json_tree messages, tools, variables;
    const struct json_node **message; // [n_messages]
    int32_t n_messages;
    int32_t head;                      // system messages before the first turn
    int32_t n_developer, n_no_content; // messages of the role developer; of the assistant, without a content
    struct call_arguments *arguments;  // arguments of tool calls that are strings holding an object
    size_t n_arguments;
};
// The content of an assistant's message that has none, null or missing, as with tool calls.
enum chat_content { CHAT_CONTENT_NONE, CHAT_CONTENT_EMPTY, CHAT_CONTENT_MISSING, N_CHAT_CONTENTS };
// Messages of the role developer, which most templates do not know: as given, as system messages, or joined with the system
// messages before the first turn to one.
enum chat_developer { CHAT_DEVELOPER_GIVEN, CHAT_DEVELOPER_SYSTEM, CHAT_DEVELOPER_JOINED, N_CHAT_DEVELOPERS };
// Tools: the template's variable, or the built-in form of chat_tools.c with its text at the end of the first system message, or, where
// the template has no such role, at the beginning of the first user message.
enum chat_tools { CHAT_TOOLS_GIVEN, CHAT_TOOLS_SYSTEM, CHAT_TOOLS_USER, N_CHAT_TOOLS };

// Contents with pictures: parts of the type image, or image_url, or one text with the model's mark for a picture.
enum chat_pictures { CHAT_PICTURES_PARTS, CHAT_PICTURES_URLS, CHAT_PICTURES_TEXT, N_CHAT_PICTURES };

// Options of a rendering.
struct chat_way {
    int32_t cut_from, cut_to; // these messages are left out
    const char *marker;       // appended to the last message's text; NULL: nothing
    bool texts_stay;          // arguments of tool calls stay strings
    enum chat_content content;
    enum chat_developer developer;
    bool hides_developer; // their content is empty: does the template write it at all?
    enum chat_tools tools;
    bool hides_tools; // tools given are none: does the template write them at all?
    enum chat_pictures pictures;
    bool texts_are_parts; // contents that are texts become a list of one part
    bool asks;            // replaces the last message by the generation prompt
};
// *c must be zeroed; call conversation_free() whatever is returned. Errors: RN_E_ARG (which message and why), RN_E_FORMAT,
// RN_E_LIMIT, RN_E_NOMEM.
rn_status conversation_read(const rn_chat *chat, const struct vocab *vocab, struct conversation *c, rn_error *err);
void conversation_free(struct conversation *c);
// Returns the first messages of the turns that may be dropped, and of those after them: turns[0] is dropped first. The last
// item is the last turn, which always stays. The caller frees it.
rn_status conversation_turns(const struct conversation *c, rn_truncate how, int32_t **turns, size_t *n,
                             rn_error *err);
// Builds the template's variables in the arena.
rn_status conversation_values(const struct conversation *c, const struct chat_way *way, struct arena *a,
                              const struct template_value **out, rn_error *err);
// The text of the last message, which a continued answer starts from. Empty if there is none.
struct vocab_str conversation_last_text(const struct conversation *c);

// chat_pictures.c. Pictures of messages [from, to); 0 where the chat brings none.
size_t conversation_n_pictures(const struct conversation *c, int32_t from, int32_t to);
// RN_E_ARG: more or fewer of them than the chat's pictures.
rn_status chat_pictures_read(const struct conversation *c, rn_error *err);
// A list of one part with the text.
const struct template_value *chat_text_part(struct chat_maker *m, const struct template_value *text);
// A content of parts in the forms CHAT_PICTURES_URLS and CHAT_PICTURES_TEXT; of the latter with `end` behind it.
const struct template_value *chat_url_parts(struct chat_maker *m, const struct json_node *content);
const struct template_value *chat_joined_parts(struct chat_maker *m, const struct picture_marks *marks,
                                               const struct json_node *content, const char *end);
struct chat_place {
    size_t at, n; // bytes of the rendering
    bool is_video;
};
// Finds the places of n pictures in what the template wrote (NULL: not asked). *are_tokens: spelled as the model's tokens for pictures and videos. False:
// there are more or fewer.
bool chat_find_places(const struct picture_marks *m, const struct template_output *o, size_t n,
                      struct chat_place *places, bool *are_tokens);

// chat_picture_tokens.c. Which of a chat's pictures a rendering has: those before the messages that are left out, and those behind.
struct chat_kept_pictures {
    size_t n, n_before, n_left_out;
};
static inline size_t chat_kept_picture(struct chat_kept_pictures k, size_t place) {
    return place < k.n_before ? place : place + k.n_left_out;
}
// The ids of a rendering (tokenizer_encode_marked()) with the rows of its pictures, of which those that it has are placed. RN_E_LIMIT as there.
rn_status chat_tokens_with_pictures(const struct chat_prompt_plan *plan, const struct template_output *o,
                                    const struct text_range *markup, size_t n_markup, size_t max_ids,
                                    struct chat_kept_pictures kept, struct prompt_pictures *pictures,
                                    struct id_list *ids, rn_error *err);

// chat_calls.c: arguments of tool calls that are strings
rn_status chat_calls_read(struct conversation *c, rn_error *err);
void chat_calls_free(struct conversation *c);
// A list of calls, with string arguments replaced by objects.
const struct template_value *chat_calls_value(struct chat_maker *m, const struct conversation *c,
                                              const struct json_node *calls);

// chat_tools.c: the built-in form of tools. Texts lie in the maker's arena; empty or NULL after a failure.
// The description of the conversation's tools.
// chat_tools_sentence is part of it, and the same in a text of JSON.
extern const char chat_tools_sentence[];
struct vocab_str chat_tools_text(struct chat_maker *m, const struct conversation *c);
bool chat_has_calls(const struct json_node *message);
// The content of the assistant's messages [from, to), tool calls included.
const struct template_value *chat_calls_text(struct chat_maker *m, const struct conversation *c, int32_t from,
                                             int32_t to);
bool chat_is_result(const struct json_node *message); // of a tool
// One user message of results [from, to), the last of which may be what the user says.
const struct template_value *chat_results_message(struct chat_maker *m, const struct conversation *c, int32_t from,
                                                  int32_t to);
// A text or content (NULL: none) with the description of the tools before (is_first) or after it.
const struct template_value *chat_join_tools(struct chat_maker *m, struct vocab_str text, struct vocab_str tools,
                                             bool is_first);
const struct template_value *chat_content_and_tools(struct chat_maker *m, const struct json_node *content,
                                                    struct vocab_str tools, bool is_first);

// chat_render.c: without messages [cut_from, cut_to). *tools: in which form the rendering has the conversation's tools, given if there
// are none; NULL is fine.
rn_status conversation_render(const struct conversation *c, const rn_template *t, int32_t cut_from, int32_t cut_to,
                              struct template_output *out, enum chat_tools *tools, rn_error *err);
// As above, with the last message replaced by the generation prompt.
rn_status conversation_render_open(const struct conversation *c, const rn_template *t, int32_t cut_from,
                                   int32_t cut_to, struct template_output *out, rn_error *err);

#endif
