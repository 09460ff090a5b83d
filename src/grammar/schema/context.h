// grammar/schema/context.h - what the parts of the schema compiler share.
//
// A value has to satisfy a set of literals: schemas and smaller conditions, or their opposites. Each set that occurs becomes one rule. A set
// is expanded (expand.c) into forms: conditions by type without any choice left; a value of the set has one of the forms. A form is
// written as symbols (write_*.c), whose parts are rules of other sets.
#ifndef RN_GRAMMAR_SCHEMA_CONTEXT_H
#define RN_GRAMMAR_SCHEMA_CONTEXT_H

#include "base/arena.h"
#include "grammar/chars.h"
#include "grammar/schema/schema.h"

enum schema_limits {
    SCHEMA_MAX_FORMS = 4096,   // of one set
    SCHEMA_MAX_STEPS = 400000, // literals expanded, of the whole schema
    SCHEMA_MAX_PLACES = 20000, // of one object's or array's graph
    SCHEMA_MAX_FLAGS = 6,      // members or items of a kind that must occur, in any order
    SCHEMA_MAX_PATTERNS = 6,   // that one object's members are told apart by
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

typedef uint32_t lit_id;

enum lit_kind {
    LIT_FALSE,     // nothing
    LIT_SCHEMA,    // node: a schema
    LIT_KEYWORD,   // node: a schema, group: what of it
    LIT_TYPES,     // number: types
    LIT_CONST,     // node: the value
    LIT_SCALARS,   // node: a list; the value is one of it that is neither array nor object
    LIT_HAS,       // an object with the member `node` (a string or a member's name)
    LIT_MEMBER,    // and its value satisfies `sub`
    LIT_SOME,      // an object with a member that `node`, a layer, does not name, whose value satisfies `sub`
    LIT_ITEM,      // an array with an item at `number`, which satisfies `sub`
    LIT_SOME_ITEM, // an array with an item at `number` or later, which satisfies `sub`
    LIT_ALL_ITEMS, // every item of an array satisfies `sub`
    LIT_MIN_ITEMS,
    LIT_MAX_ITEMS, // number, of an array
    LIT_COUNT,     // `number`..`most` items of an array satisfy `sub`
};

struct lit {
    uint8_t kind, group;
    bool negated;
    uint32_t number, most;
    lit_id sub;
    const struct json_node *node;
};

struct list { // in an arena; shared tails
    const struct list *next;
    lit_id lit;
    const struct json_node *node;
    uint32_t number, most, from;
};

struct form { // by value: lists are shared
    unsigned types;
    expr_id string, number; // the contents of strings, the texts of numbers; EXPR_ANY: no condition
    uint64_t min_items, max_items, min_members, max_members;
    const struct list *arrays;           // node: a layer of items
    const struct list *items;            // number: an index, lit
    const struct list *all_items;        // lit
    const struct list *counts;           // number..most items from index `from` satisfy lit
    const struct list *objects;          // node: a layer of members
    const struct list *required, *lacks; // node: a name
    const struct list *members;          // node: a name, lit
    const struct list *some;             // node: a layer, lit
    const struct list *names;            // lit: of the names of members
    const struct list *seen;             // lit: expanded already
    const struct list *unique;           // node: where unique items are wanted
    const struct list *unevaluated;
};

struct forms {
    struct form *of;
    uint32_t n, max;
};

struct lit_set {
    lit_id *lits; // sorted
    uint32_t n, rule;
};

struct resource {
    const struct json_node *node;
    const char *uri;
    size_t n_uri;
};

struct context {
    struct rules *r;
    struct exprs *e;
    const struct json_node *root;
    struct arena arena;
    struct lit *lits;
    uint32_t n_lits, max_lits;
    uint32_t *lit_table, lit_table_size;
    struct lit_set *sets;
    uint32_t n_sets, max_sets;
    uint32_t *set_table, set_table_size;
    struct resource *resources;
    uint32_t n_resources, max_resources;
    bool ref_is_alone; // up to draft 7, `$ref` hides what stands beside it
    uint32_t n_steps;
    uint32_t any_rule, any_key; // rules of any value; UINT32_MAX: not made yet
    sym_id comma, colon, open_object, close_object, open_array, close_array;
    expr_id any_char, any_text; // within a string
    expr_id free_text;          // with every escape that JSON has
    rn_status st;
    rn_error *err;
};

// Fails once; `at` gives the JSON pointer. Returns false.
bool schema_stop(struct context *c, rn_status st, const struct json_node *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool schema_ok(struct context *c);               // also looks at the expressions
void *schema_alloc(struct context *c, size_t n); // NULL after stopping

lit_id schema_lit(struct context *c, struct lit x);
lit_id schema_not(struct context *c, lit_id x);
static inline lit_id schema_of(struct context *c, const struct json_node *n) {
    return schema_lit(c, (struct lit){.kind = LIT_SCHEMA, .node = n});
}

// A string's characters; a member's name: bytes of a name.
const char *schema_name(const struct json_node *n, size_t *n_name);
bool schema_same_name(const struct json_node *a, const struct json_node *b);

// What $ref refers to; NULL after stopping.
bool schema_find_resources(struct context *c);
const struct json_node *schema_resolve(struct context *c, const struct json_node *ref);

// The forms of a set; free with mem_free(out->of).
bool schema_expand(struct context *c, const lit_id *lits, uint32_t n, struct forms *out);
// Are the two schemas' values different for sure?
bool schema_disjoint(struct context *c, const struct json_node *a, const struct json_node *b);

// A value that satisfies all of these; sorts them. SYM_NEVER after an error.
sym_id schema_value(struct context *c, lit_id *lits, uint32_t n);
// "..." of a member's name or string.
expr_id schema_quoted(struct context *c, expr_id content);
expr_id schema_name_expr(struct context *c, const struct json_node *name);  // without quotes
bool schema_matches(struct context *c, expr_id x, const char *s, size_t n); // of bytes as they are coded
rn_status schema_pattern(struct context *c, const struct json_node *pattern,
                         expr_id *out); // a string or a member's name, to be found

void schema_write_object(struct context *c, const struct form *f, uint32_t rule);
void schema_write_array(struct context *c, const struct form *f, uint32_t rule);

#endif
