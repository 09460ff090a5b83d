// grammar/schema/schema.h - a grammar of the JSON texts that a JSON Schema allows (draft 4 to
// 2020-12).
//
// What a keyword means is enforced, or the schema is refused with the keyword and its JSON pointer.
// Members stand in the order of `properties`, then the others. What is an annotation (title,
// default, an unknown keyword or format ...) has no effect.
#ifndef RN_GRAMMAR_SCHEMA_SCHEMA_H
#define RN_GRAMMAR_SCHEMA_SCHEMA_H

#include "formats/json/json_tree.h"
#include "grammar/rules.h"

enum json_space {
    JSON_SPACE_DUMPS,   // ", " and ": ", as Python's json.dumps() writes
    JSON_SPACE_COMPACT, // none
    JSON_SPACE_FREE,    // up to 20 blanks and line ends wherever JSON has them
};

// t: the schema, which is not needed afterwards. *start: the rule of a whole text.
// Errors: RN_E_ARG, `POINTER: WHY`: no schema; RN_E_UNSUPPORTED, `POINTER: KEYWORD: WHY`;
// RN_E_LIMIT, RN_E_NOMEM.
rn_status schema_compile(struct rules *r, const struct json_tree *t, enum json_space space, uint32_t *start,
                         rn_error *err);

#endif
