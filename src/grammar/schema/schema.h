// grammar/schema/schema.h - a grammar of the JSON texts that a JSON Schema allows (draft 4 to
// 2020-12).
//
// What a keyword means is enforced, or the schema is refused with the keyword and its JSON pointer.
// Members stand in the order of `properties`, then the others. What is an annotation (title,
// default, an unknown keyword or format ...) has no effect.
#ifndef RN_GRAMMAR_SCHEMA_SCHEMA_H
#define RN_GRAMMAR_SCHEMA_SCHEMA_H

#include "formats/json/json_tree.h"
#include "grammar/chars.h"
#include "grammar/rules.h"

enum json_space {
    JSON_SPACE_DUMPS,   // ", " and ": ", as Python's json.dumps() writes
    JSON_SPACE_COMPACT, // none
    JSON_SPACE_FREE,    // up to 20 blanks and line ends wherever JSON has them
};

// Which of the texts of a value are meant.
struct json_texts {
    enum json_space space;
    // Every text that JSON Schema takes for an integer: 1.0 and -0, too, which many programs do not read as one. And every spelling of
    // the numbers of enum and const. For judging documents; what is generated has 1 and 0.
    bool any_integers;
};

enum value_type {
    TYPE_NULL = 1,
    TYPE_FALSE = 2,
    TYPE_TRUE = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ALL = 127
};

// What stands between the values of JSON.
struct json_marks {
    sym_id comma, colon, open_object, close_object, open_array, close_array;
};
void json_marks_make(struct rules *r, enum json_space space, struct json_marks *m);

// How the arguments of a call are written, which are one object. Values within values are JSON, but
// for PYTHON and BARE.
enum arguments_style {
    ARGUMENTS_JSON,
    ARGUMENTS_PYTHON, // a=1, b="x", c=[True, None] up to `)`
    ARGUMENTS_BARE,   // a:1,b:QUOTExQUOTE,c:{d:2} up to `}`; no escapes in strings
    ARGUMENTS_TAGS,   // each value between tags; no escapes and no quotes around strings
};

enum { ARGUMENT_TAGS = 8 };
struct argument_tag {
    // `before` NAME `after` VALUE `end`, and the name again with `end_after` behind it, unless that is
    // EXPR_EMPTY.
    expr_id before, after, end, end_after;
    unsigned types;        // of values between these tags
    bool is_string;        // the value is a string even if it reads like another value
    struct text begin_not; // no string begins so; n 0: any may
};

struct arguments_form {
    enum arguments_style style;
    struct json_texts json; // of JSON
    expr_id quote;          // BARE
    struct text stop;       // BARE and TAGS: strings do not have this text
    // TAGS:
    struct argument_tag tags[ARGUMENT_TAGS];
    uint32_t n_tags;
    char name_stop;  // names of arguments do not have this character
    bool has_breaks; // a line break around each value
    expr_id end;     // behind all arguments
};

// The arguments of a call, by a schema of them (NULL: there are none). Otherwise as below.
rn_status schema_compile_arguments(struct rules *r, const struct json_node *schema, const struct arguments_form *form,
                                   uint32_t *start, rn_error *err);

// t: the schema, which is not needed afterwards. *start: the rule of a whole text.
// Errors: RN_E_ARG, `POINTER: WHY`: no schema; RN_E_UNSUPPORTED, `POINTER: KEYWORD: WHY`;
// RN_E_LIMIT, RN_E_NOMEM.
rn_status schema_compile(struct rules *r, const struct json_tree *t, struct json_texts texts, uint32_t *start,
                         rn_error *err);

// ---- schemas that nothing matches ----

// The same for a schema within t.
rn_status schema_compile_part(struct rules *r, const struct json_tree *t, const struct json_node *at,
                              struct json_texts texts, uint32_t *start, rn_error *err);
// Of a schema that nothing matches, the innermost one within it that all values have to satisfy and
// that nothing matches by itself, as far as `ask` tells.
typedef bool schema_matches_nothing(void *user, const struct json_node *at);
const struct json_node *schema_blame(const struct json_tree *t, schema_matches_nothing *ask, void *user);

#endif
