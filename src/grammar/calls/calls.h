// grammar/calls/calls.h - grammars of answers in an output format: tool calls as the format writes them, and what is said between
// the format's tags.
//
// They are made of the rows that the output parser reads with (output/output_formats.h), so that it finds in an answer just the calls
// that the grammar was made for.
// Ownership: nothing is kept. Threads: one at a time.
#ifndef RN_GRAMMAR_CALLS_CALLS_H
#define RN_GRAMMAR_CALLS_CALLS_H

#include "grammar/grammar.h"
#include "grammar/rules.h"

// The calls of a source of GRAMMAR_CALLS. *start: the rule of a whole answer.
// Errors: RN_E_ARG: no list of tools, a name that none has; `tools[I].parameters: POINTER: WHY`: the schema is wrong or cannot be
// enforced; RN_E_UNSUPPORTED: the format has no calls, or cannot write a name; RN_E_LIMIT, RN_E_NOMEM.
rn_status calls_compile(struct rules *r, const struct grammar_source *source, const struct grammar_tokens *tokens,
                        uint32_t *start, rn_error *err);
// What the rule *start stands for, between the tags of a format that frames what is said. *start: the rule of that.
rn_status frame_compile(struct rules *r, const struct grammar_source *source, const struct grammar_tokens *tokens,
                        uint32_t *start, rn_error *err);

#endif
