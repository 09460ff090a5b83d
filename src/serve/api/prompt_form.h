// serve/api/prompt_form.h - prompts in a request: a text, token ids, or an array of either.
//
// Ownership: `struct prompt_form` is the caller's; {0} is empty; prompt_form_free().
// Threads:   one at a time.
#ifndef RN_SERVE_API_PROMPT_FORM_H
#define RN_SERVE_API_PROMPT_FORM_H

#include "app/generation.h"
#include "app/json_schema.h"
#include "serve/jobs/job.h"

typedef struct prompt_item {
    json_span text; // data NULL: ids
    id_list ids;
} prompt_item;
typedef struct prompt_form {
    prompt_item *items;     // [n]
    size_t n, n_max;        // n_max: 0 is JOB_PARTS
    bool is_several;        // an array of texts or of arrays
    bool takes_media;       // set by the caller: llama-server's object of a text and pictures is one, too
    const json_item *media; // its pictures; NULL: none
} prompt_form;

#define PROMPT_FORM_SCHEMA                                                                                           \
    "{'anyOf':[" SCHEMA_TEXT                                                                                         \
    "," SCHEMA_SOME_OF(SCHEMA_ID) "," SCHEMA_SOME_OF(SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_IDS)) "]}"

// For a `member` row whose target is the prompt_form.
bool prompt_form_each(void *form, size_t i, const char *key, const json_item *value, char *why);
// part: the caller's.
void prompt_form_apply(const prompt_form *f, size_t i, bool parse_special, rn_request *req, rn_part *part);
// The token ids of an item. A text is tokenized with the begin and end tokens that the model file asks for, refused early if it has
// more than max_ids (rn_tokenize_at_most()), and *ids is freed with rn_free(); of an item of ids *ids points into the item.
rn_status prompt_form_ids(const prompt_form *f, size_t i, const rn_model *m, size_t max_ids, int32_t **ids, size_t *n,
                          rn_error *err);
// Makes token ids of all texts, as a request with the text would have: the begin token that the model asks for, no end token.
bool prompt_form_tokenize(prompt_form *f, const rn_model *m, bool parse_special, rn_error *err);
// Makes of each text the ids of a prompt with a hole, behind which comes the suffix, and adds the tokens that end the answers to g.
// False: err says why; RN_E_ARG where an item is ids, which cannot have a suffix.
bool prompt_form_add_suffix(prompt_form *f, const rn_model *m, const json_span *suffix, generation *g, rn_error *err);
// Leaves the last n token ids of each item, which must be ids.
void prompt_form_keep_last(prompt_form *f, size_t n);
void prompt_form_free(prompt_form *f);

#endif
