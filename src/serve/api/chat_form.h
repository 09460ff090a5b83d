// serve/api/chat_form.h - a conversation in a request: messages, tools and template options, for the routes that accept one.
//
// Ownership: `struct chat_form` is the caller's; {0} and chat_form_init() first, chat_form_free() last.
// Threads:   one at a time.
#ifndef RN_SERVE_API_CHAT_FORM_H
#define RN_SERVE_API_CHAT_FORM_H

#include "app/tool_choice.h"
#include "serve/api/api_generation.h"
#include "serve/api/api_messages.h"

typedef enum reasoning_form { REASONING_SEPARATE = 0, REASONING_NONE = 1, REASONING_TAGS = 2 } reasoning_form;

typedef struct chat_form {
    api_messages messages;   // its items; chat_form_apply() closes the array
    sent_pictures pictures;  // of the messages
    struct server *decoding; // whose pictures_lock is held, as these are decoded; NULL: none is
    bool has_messages;
    char *tools;
    bytes variables; // an object without its end
    tool_choice choice;
    bool one_call, continue_final, no_prompt; // no_prompt: add_generation_prompt false
    id_list reply;                            // token ids that the answer begins with
    int32_t reasoning, truncate;
    bool is_unsupported;
} chat_form;

void chat_form_init(chat_form *c);
void chat_form_free(chat_form *c);
enum { CHAT_FORM_ROWS = 12 };
extern const member chat_form_rows[CHAT_FORM_ROWS];
#define CHAT_FORM_GROUP(c) {chat_form_rows, CHAT_FORM_ROWS, (c)}
// For dialects with other members of their own: copies the rows of these names (terminated by NULL). Returns how many.
size_t chat_form_pick_rows(const char *const *names, member *to);
// Where the choice of tools asks for calls, or one is strict: their grammar becomes the job's. Once, when the request was admitted.
bool chat_form_force(const chat_form *c, api_request *r, job *j);
void chat_form_set_variable(chat_form *c, const char *name, const json_item *value);
// What templates know by several names: whether the model is to think before it answers.
void chat_form_set_thinking(chat_form *c, bool is_on);

// Fills the library's request, after api_request_find_model(); `chat` is the caller's. Pictures are decoded the first time, and closed by chat_form_free():
// of all requests one at a time has them, and others wait. False: r->error says why.
bool chat_form_open_pictures(chat_form *c, api_request *r); // alone
bool chat_form_apply(chat_form *c, rn_request *req, rn_chat *chat, api_request *r);

// Converts a delta as `reasoning` asks: with REASONING_TAGS, reasoning becomes content between tags. `text` is the caller's and must
// outlive the returned delta.
rn_delta chat_form_delta(job_part *p, reasoning_form form, const rn_delta *d, bytes *text);
// The closing tag, when the answer ended inside its reasoning; else "".
const char *chat_form_last(job_part *p, reasoning_form form);

#endif
