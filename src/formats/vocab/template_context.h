// formats/vocab/template_context.h - the variables of a chat template as a JSON text: {"messages": [...], "bos_token": "<s>", ...}.
//
// Ownership: values lie in the caller's arena; their strings may point into the JSON text, which outlives them. Threads: one at a time.
#ifndef RN_FORMATS_VOCAB_TEMPLATE_CONTEXT_H
#define RN_FORMATS_VOCAB_TEMPLATE_CONTEXT_H

#include "base/arena.h"
#include "base/status.h"
#include "jinja/template_value.h"

struct json_node;

// Names of the variables that hold special tokens of the model, terminated by NULL: for `markup` below.
extern const char *const template_token_names[];

// json[0..n): an object, as json_read() accepts it. markup: names, terminated by NULL, of members whose strings may spell control
// tokens because they come from the model's file and not from a user; NULL: none.
// Errors: as json_read(); RN_E_FORMAT (no object), RN_E_LIMIT (a number beyond 127 bits or 512 characters), RN_E_NOMEM.
rn_status template_context_read(const char *json, size_t n, const char *const *markup, struct arena *a,
                                const struct template_value **out, rn_error *err);
// The same for one value of a parsed tree, which must outlive it: strings point into the tree. is_markup: they may spell control tokens.
rn_status template_value_read(const struct json_node *v, bool is_markup, struct arena *a,
                              const struct template_value **out, rn_error *err);

#endif
