// grammar/tags/structural_tag.h - structural tags: a tree of formats in JSON, as XGrammar and vLLM define it.
//
//     {"type": "structural_tag", "format": FORMAT}, or the older
//     {"structures": [{"begin", "schema", "end"}], "triggers": [..]}
//
// docs/structured-output.md has the formats and what each means. Threads: pure functions of their arguments; the rules are used by one
// thread at a time.
#ifndef RN_GRAMMAR_TAGS_STRUCTURAL_TAG_H
#define RN_GRAMMAR_TAGS_STRUCTURAL_TAG_H

#include "formats/json/json_tree.h"
#include "grammar/text/grammar_text.h"

enum {
    STRUCTURAL_TAG_MAX_FORMATS = 10000, // with tags
    STRUCTURAL_TAG_MAX_REPEAT = GRAMMAR_TEXT_MAX_REPEAT,
};

// t: not needed afterwards. o: as of a grammar's text, NULL for the defaults. *start: the rule of a whole text.
// Errors: RN_E_ARG, `POINTER: WHY`, behind which a schema's own pointer or a grammar's LINE:COLUMN may stand; RN_E_UNSUPPORTED, the same;
// RN_E_LIMIT; RN_E_NOMEM.
rn_status structural_tag_compile(struct rules *r, const struct json_tree *t, const struct grammar_text_options *o,
                                 uint32_t *start, rn_error *err);

#endif
