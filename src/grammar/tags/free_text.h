// grammar/tags/free_text.h - free text in which some strings lead to something else: the core of structural tags and of tool calls.
//
//     text of any characters, up to the first place where a trigger is complete, then that trigger's rest, then free text again
//
// What a trigger leads to is a symbol of rules.h: a schema, a grammar, a tag with both. Where triggers end at the same byte, the rest
// of any of them may follow. Where none of those that end there has a rest (SYM_NEVER), the byte is not allowed. Neither is the last byte
// of an exclude. Triggers and excludes are looked for in one piece of free text only: it begins anew after each rest.
//
// Free text has characters of UTF-8 and no special tokens. It may end after any character that does not lead into a trigger for certain,
// also in the middle of a trigger.
//
// To build a grammar of it, tools do this within automata_make() or a grammar_source of GRAMMAR_BUILT:
//
//     struct trigger calls[] = {{token_text_expr(e, tokens, "<tool_call>", 11), sym_seq(r, (sym_id[]){schema, end}, 2)}};
//     struct free_text f = {.triggers = calls, .n_triggers = 1};
//     rule_define(r, start, free_text_sym(r, &f));
//
// Errors stick in the expressions' status. Ownership: all is borrowed, and not needed after the call. Threads: one at a time.
#ifndef RN_GRAMMAR_TAGS_FREE_TEXT_H
#define RN_GRAMMAR_TAGS_FREE_TEXT_H

#include "grammar/rules.h"

enum { FREE_TEXT_MAX_STRINGS = 256 }; // triggers and excludes of one free text

struct trigger {
    expr_id text; // one text, not empty; may have special tokens (token_text.h)
    sym_id rest;  // what has to follow it; SYM_NEVER: the text may not stand here
};

struct free_text { // all zero: any text
    const struct trigger *triggers;
    size_t n_triggers; // with n_excludes at most FREE_TEXT_MAX_STRINGS
    const expr_id *excludes;
    size_t n_excludes;
    expr_id unit;        // what free text is a repetition of; EXPR_NEVER: any one character
    bool ends_after_one; // nothing follows the first trigger's rest
    // The text begins with a trigger: no free text before it.
    bool begins_with_one;
};

sym_id free_text_sym(struct rules *r, const struct free_text *f);
// Up to n units in which none of the texts stands. unit: as above. n: EXPR_NO_MAX for any number.
expr_id free_text_without(struct exprs *e, expr_id unit, const expr_id *texts, size_t n_texts, uint32_t n);

#endif
