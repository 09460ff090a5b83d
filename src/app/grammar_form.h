// app/grammar_form.h - the form of an answer as a JSON request gives it: a JSON Schema, JSON, a regular expression, choices, a
// grammar, structural tags.
//
// Ownership: plain data that may be copied; it points into the request's document. A form_source is the caller's; form_source_free().
// Threads:   one at a time.
#ifndef RN_APP_GRAMMAR_FORM_H
#define RN_APP_GRAMMAR_FORM_H

#include "app/json_read.h"
#include <runnel/runnel.h>

typedef struct grammar_form {
    const char *member; // that gave the form, as errors name it; NULL: none did
    rn_grammar_kind kind;
    const json_item *value; // a schema, a text or an array of texts; NULL: the kind has none
    int32_t space;          // of rn_json_space
} grammar_form;

// Gives the form, after looking at the value's type. False: it has the wrong one, or another member gave a form already.
// name: of the member, as errors have it; constant. A schema may also be a text that has it.
bool grammar_form_set(grammar_form *f, rn_grammar_kind kind, const char *name, const json_item *value, char *why);
// The same for a member that is true or false.
bool grammar_form_switch(grammar_form *f, const char *name, const json_item *value, char *why);
// A grammar in GBNF or Lark; an empty text gives no form, as llama-server has it.
bool grammar_form_set_text(grammar_form *f, const char *name, const json_item *value, char *why);
bool grammar_form_set_space(grammar_form *f, const json_item *value, char *why); // dumps, compact, free

// What a form is compiled from, with the memory that it needs.
typedef struct form_source {
    rn_grammar_source source;
    bytes text; // of a schema
    const char **choices;
    size_t *choice_bytes;
} form_source;
// f->member is set. False: out of memory.
bool form_source_make(const grammar_form *f, form_source *to);
void form_source_free(form_source *s);

#endif
