// grammar/schema/meaning.h - what a keyword means, and what its opposite: shared by meaning*.c.
//
// A keyword's function looks at one literal (x) and adds what it means to the conditions of its own
// (f), to the literals that must hold too, or as a choice (w). It looks only at what applies to the
// same value, never into members or items.
#ifndef RN_GRAMMAR_SCHEMA_MEANING_H
#define RN_GRAMMAR_SCHEMA_MEANING_H

#include "grammar/schema/context.h"

enum group { // keywords that are expanded together, at the first one
    G_NONE,
    G_TYPE,
    G_ENUM,
    G_CONST,
    G_STRING,
    G_NUMBER,
    G_REQUIRED,
    G_MEMBERS,
    G_COUNT, // of members and items
    G_NAMES,
    G_DEPENDENCIES,
    G_ITEMS,
    G_UNIQUE,
    G_CONTAINS,
    G_ALL_OF,
    G_ANY_OF,
    G_ONE_OF,
    G_NOT,
    G_IF,
    G_REF,
    G_UNEVALUATED,
    N_GROUPS
};

enum group schema_group(const struct json_node *member);

struct making {
    struct context *c;
    lit_id id; // of x
    const struct lit *x;
    struct form *f;
    struct work *w;
};

// ---- parts ----

struct ways {
    const struct list **of;
    uint32_t n, max;
};

void also(struct making *m, lit_id x);
struct ways new_ways(struct context *c, uint32_t max);
// all of n literals
void add_way(struct context *c, struct ways *x, const lit_id *lits, uint32_t n);
// NULL after stopping
struct choice *one_of(struct making *m, struct ways x);

lit_id types_lit(struct context *c, unsigned types);
lit_id number_lit(struct context *c, enum lit_kind kind, uint64_t n);
lit_id node_lit(struct context *c, enum lit_kind kind, const struct json_node *n);
static inline lit_id not_of(struct context *c, const struct json_node *schema) {
    return schema_not(schema_of(c, schema));
}

// ---- what a keyword has to be; false after stopping ----

bool want(struct context *c, const struct json_node *v, enum json_kind kind, const char *what);
bool is_schema(const struct json_node *v);
bool want_schema(struct context *c, const struct json_node *v);
bool want_schemas(struct context *c, const struct json_node *v); // an array of at least one
bool read_count(struct context *c, const struct json_node *v, uint64_t *out);

// ---- keywords, by group ----

void mean_type(struct making *m);
void mean_enum(struct making *m);
void mean_const(struct making *m);
void mean_scalar(struct making *m); // strings and numbers
void mean_value(struct making *m, const struct json_node *v);
expr_id mean_pattern(struct context *c, const struct json_node *pattern);
void mean_scalars(struct making *m, const struct json_node *list);

void mean_required(struct making *m);
void mean_members(struct making *m);
void mean_names(struct making *m);
void mean_dependencies(struct making *m);
void mean_items(struct making *m);
void mean_unique(struct making *m);
void mean_contains(struct making *m);
void mean_has(struct making *m, const struct json_node *name, bool negated);

void mean_all_of(struct making *m);
void mean_any_of(struct making *m);
void mean_one_of(struct making *m);
void mean_not(struct making *m);
void mean_if(struct making *m);
void mean_ref(struct making *m);
void mean_unevaluated(struct making *m);

#endif
