// grammar/schema/context.h - what the parts of the schema compiler share.
//
// A value has to satisfy a set of literals: schemas, keywords and smaller conditions, or their
// opposites. Each set that occurs becomes one rule of the grammar.
// - meaning.c says what a literal means: conditions of its own, literals that must hold too, and
//   choices.
// - Strings and numbers: the literals become one regular expression, with and, or and not
//   (scalars.c).
// - Arrays and objects: the set is expanded into forms, conditions without any choice left
//   (expand.c). A value has one of the forms. Each is written as a graph (write_*.c), whose parts
//   are rules of other sets.
#ifndef RN_GRAMMAR_SCHEMA_CONTEXT_H
#define RN_GRAMMAR_SCHEMA_CONTEXT_H

#include "base/arena.h"
#include "grammar/chars.h"
#include "grammar/schema/schema.h"

enum schema_limits {         // docs/structured-output.md
    SCHEMA_MAX_FORMS = 1024, // of one set
    // of the search for forms: in the whole schema, and for each of its values
    SCHEMA_MAX_STEPS = 2000000,
    SCHEMA_NODE_STEPS = 500,
    // schemas and keywords that apply to one value, one through the other
    SCHEMA_MAX_WITHIN = 600,
    SCHEMA_MAX_FIRST = 4096,    // items with schemas of their own
    SCHEMA_MAX_UNIQUE = 64,     // values of unique items
    SCHEMA_MAX_PLACES = 20000,  // of one object's or array's graph
    SCHEMA_MAX_FLAGS = 6,       // members that must occur, in any order
    SCHEMA_MAX_PATTERNS = 32,   // that one object's members are told apart by
    SCHEMA_MAX_CELLS = 64,      // sets of them that a name may match
    SCHEMA_MAX_LAYERS = 64,     // schemas that describe the members of one object
    SCHEMA_MAX_PART_LITS = 128, // schemas of one member or item
    SCHEMA_MAX_SCOPES = 1024,   // ways through resources with dynamic anchors
};

// How numbers may be written, by conditions on them; what is written for several is all of these.
enum number_digits {
    DIGITS_ANY,
    DIGITS_PLAIN = 1, // without an exponent, for which the condition is not exact
    DIGITS_SHORT = 3, // and few enough digits that no two numbers make the same double
};

typedef uint32_t lit_id;
#define NO_LIT UINT32_MAX

enum lit_kind {
    LIT_FALSE,   // nothing
    LIT_SCHEMA,  // node: a schema
    LIT_KEYWORD, // node: a schema, group: what of it
    LIT_TYPES,   // number: types
    LIT_CONST,   // node: the value
    LIT_PATTERN, // node: a string that matches this pattern (a string or a member's name) somewhere
    LIT_SCALARS, // node: a list; the value is one of it that is neither array nor object
    LIT_HAS,     // an object with the member `node` (a string or a member's name)
    LIT_MEMBER,  // and its value satisfies `sub`
    // an object with a member whose name is one of `group` (enum names_of), whose value satisfies
    // `sub`
    LIT_SOME,
    LIT_ITEM,      // an array with an item at `number`, which satisfies `sub`
    LIT_SOME_ITEM, // an array with an item at `number` or later, which satisfies `sub`
    LIT_ALL_ITEMS, // every item of an array satisfies `sub`
    LIT_MIN_ITEMS, // number, of an array
    LIT_MAX_ITEMS,
    // node: minItems, maxItems, minProperties or maxProperties (`number` says which): the opposite
    // of it
    LIT_BEYOND,
    LIT_COUNT,  // `number`..`most` items of an array satisfy `sub`
    LIT_EITHER, // `sub` or the literal `number`
    // members or items that the layers of rest `number` do not describe satisfy the schema `node`
    LIT_REST,
};

// Which names of members are meant, by `node`.
enum names_of {
    NAMES_OTHER,    // those that a schema names neither in `properties` nor by patternProperties
    NAMES_NOT_KEYS, // those that an object as a value does not have
    NAMES_MATCHING, // those that match a member of patternProperties
    NAMES_UNWANTED, // those that do not satisfy a schema
};

struct lit {
    uint8_t kind, group;
    bool negated;
    uint32_t number, most;
    lit_id sub;
    uint32_t scope; // what $dynamicRef means within it
    const struct json_node *node;
};

struct list { // in an arena; shared tails
    const struct list *next;
    lit_id lit;
    const struct json_node *node;
    uint32_t number, most, from;
    // of a form's objects and of literals to be taken: the choice that they come from, 0: none
    uint32_t owner;
    uint32_t scope; // of layers and of a form's `some`: that of the schema
};

enum layer_kind {
    LAYER_SCHEMA,
    LAYER_CONST,
    LAYER_REST,
    LAYER_CHOICE
}; // in list.number; CHOICE: what choice `from` adds

// An object with the member `if_has` has those of `wants` (nodes: names), too.
struct dependency {
    const struct dependency *next; // of a form's
    const struct json_node *if_has;
    const struct list *wants;
};

struct form { // by value: lists are shared
    unsigned types;
    expr_id string, number; // the contents of strings, the texts of numbers; EXPR_ANY: no condition
    uint8_t digits;         // enum number_digits: how numbers are written for the condition on them
    uint64_t min_items, max_items, min_members, max_members;
    const struct list *arrays;    // node: a layer of items; number: enum layer_kind
    const struct list *items;     // number: an index, lit
    const struct list *all_items; // lit
    const struct list *counts;    // number..most items from index `from` satisfy lit
    const struct list *contained; // lit: items that satisfy it are evaluated, unless `most` (under a negation)
    // node: a layer of members, the last one first; number: enum layer_kind
    const struct list *objects;
    const struct list *required, *lacks; // node: a name
    const struct list *members;          // node: a name, lit
    const struct list *some;             // node, number: enum names_of, lit
    const struct list *names;            // lit: of the names of members
    // between members that `properties` names
    const struct dependency *dependencies;
    const struct list *unique;  // node: where unique items are wanted
    const struct list *refused; // node: a keyword that cannot be negated
    const struct list *seen;    // lit: expanded already
};

struct forms {
    struct form *of;
    uint32_t n, max;
};

struct choice { // one of several lists of literals
    const struct choice *next;
    const struct list **ways;
    uint32_t n;
    lit_id unless; // the choice is the opposite of this literal; NO_LIT: of none
    bool is_any;   // of anyOf: several ways may hold together
    const struct dependency
        *dependency; // the first way: no such member, the second one: all of them; NULL: no dependency
};

struct work { // what is left of literals: all of `todo`, and one way of each choice
    const struct list *todo;
    const struct choice *choices;
};

struct meaning {
    bool is_known, has_string, has_number;
    uint8_t digits;
    // types of which it accepts values at most; types of which it accepts every value
    unsigned may, must;
    lit_id alias; // it means just what this literal means; NO_LIT: it does not
    expr_id string, number;
    struct form own;
    struct work rest;
};

struct rest { // what unevaluatedProperties or unevaluatedItems does not apply to
    const struct list *layers;
    const struct list *contained; // of a form: items that satisfy one of these neither
};

struct lit_set {
    lit_id *lits; // sorted
    uint32_t n, rule;
    uint32_t spelling;
};

enum {
    N_CODINGS = CODING_JSON + 1,
    SPELLING_JSON = 0,
    SPELLING_ARGUMENTS = 1, // then one for each of the tags around arguments
    SPELLING_DECLARED = SPELLING_ARGUMENTS + 1 + ARGUMENT_TAGS,
    // By the types that an argument may have beside string: sets of null, booleans, numbers, arrays and objects.
    N_DECLARED = 32,
    MAX_SPELLINGS = SPELLING_DECLARED + N_DECLARED
};

enum member_style {
    MEMBER_QUOTED, // names in quotes
    MEMBER_BARE,   // without, where they are words
    MEMBER_TAGGED, // name and value between tags
};

// How values are written. JSON is number 0, the outermost object of arguments number 1.
struct spelling {
    struct json_marks marks; // of the arrays and objects
    enum coding coding;      // of strings and names
    enum member_style members;
    uint32_t inner, container; // spellings of what is in arrays and objects, and of themselves
    unsigned types;            // that it can write
    const char *words[3];      // null, false, true
    expr_id quote;             // around strings
    expr_id strings;           // that it can write; EXPR_ANY: all
    expr_id before, after;     // a value
    uint32_t any_rule;         // rule of any value; UINT32_MAX: not made yet
    bool is_made;              // of those by declared types
};

struct resource {
    const struct json_node *node;
    const char *uri;
    size_t n_uri;
};

struct anchor { // a name of a schema within its resource; of $recursiveAnchor: ""
    const struct json_node *node;
    const char *name;
    size_t n_name;
    uint32_t resource;
    bool is_dynamic;
};

// The resources with dynamic anchors that were entered on the way to a schema (JSON Schema core, section 7.1: the dynamic scope), the
// last one of them. Number 0 has none.
struct scope {
    uint32_t parent, resource;
};

struct context {
    struct rules *r;
    struct exprs *e;
    const struct json_node *root;
    struct arena arena;
    struct lit *lits;
    // by coding and literal; NULL: not asked for yet
    struct meaning **meanings[N_CODINGS];
    // by literal: the search for forms has taken it on the way to where it is
    uint8_t *taken;
    uint32_t n_lits, max_lits;
    uint32_t *lit_table, lit_table_size;
    struct lit_set *sets;
    uint32_t n_sets, max_sets;
    uint32_t *set_table, set_table_size;
    struct rest *rests;
    uint32_t n_rests, max_rests;
    struct resource *resources;
    uint32_t n_resources, max_resources;
    struct anchor *anchors;
    uint32_t n_anchors, max_anchors;
    bool has_dynamic; // several resources have a dynamic anchor of one name: scopes are told apart
    struct scope *scopes;
    uint32_t n_scopes, max_scopes, scope; // scope: of the literal that is looked at
    bool ref_is_alone;                    // up to draft 7, `$ref` hides what stands beside it
    bool any_integers;                    // as in json_texts
    bool whole_has_no_point;              // up to draft 4, 1.0 is no integer
    bool id_is_plain;                     // up to draft 4, `$id` is spelled `id`
    bool contains_evaluates;              // since draft 2020-12, for unevaluatedItems
    uint64_t n_steps, max_steps;          // of the search for forms
    uint32_t n_within, n_choices;
    struct spelling spellings[MAX_SPELLINGS];
    const struct spelling *now;             // of what is being written
    const struct arguments_form *arguments; // NULL: a value, not arguments
    // by coding: within a string; of any string, with every escape that it has
    expr_id any_char[N_CODINGS], any_text[N_CODINGS], free_text[N_CODINGS];
    expr_id word; // a name without quotes
    rn_status st;
    rn_error *err;
};

// Fails once; `at` gives the JSON pointer. Returns false.
bool schema_stop(struct context *c, rn_status st, const struct json_node *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool schema_ok_slowly(struct context *c);        // of schema_ok()
void *schema_alloc(struct context *c, size_t n); // NULL after stopping
// Room for one more element of an array; false after stopping.
bool schema_grow(struct context *c, void *array, uint32_t n, uint32_t *max, size_t size);
const struct list *schema_prepend(struct context *c, const struct list *next, struct list x);

// Has nothing stopped it, nor the expressions?
static inline bool schema_ok(struct context *c) {
    return c->st == RN_OK && (c->e->status == RN_OK || schema_ok_slowly(c));
}

// ---- literals ----

lit_id schema_lit(struct context *c, struct lit x);
// a literal and its opposite stand beside each other
static inline lit_id schema_not(lit_id x) { return x ^ 1; }
// The scope within a schema that is reached from the scope of now.
uint32_t schema_enter(struct context *c, const struct json_node *n);
static inline lit_id schema_of(struct context *c, const struct json_node *n) {
    return schema_lit(c,
                      (struct lit){.kind = LIT_SCHEMA, .node = n, .scope = c->has_dynamic ? schema_enter(c, n) : 0});
}
const struct meaning *schema_meaning(struct context *c, lit_id x); // NULL after stopping
// The texts within quotes, and of numbers; not only those that JSON writes (any_text,
// numerals_any()).
expr_id schema_strings(struct context *c, lit_id x);
expr_id schema_numbers(struct context *c, lit_id x);
expr_id schema_all_strings(struct context *c, const lit_id *lits, uint32_t n); // of a set
expr_id schema_all_numbers(struct context *c, const lit_id *lits, uint32_t n);
// Can no value satisfy them, as far as is easily found out? Looks only at what applies to the same
// value.
bool schema_never(struct context *c, const lit_id *lits, uint32_t n);

// ---- the document ----

#define EACH(v, i, list)                                                                                             \
    for (uint32_t i = 0, once_##i = 1; once_##i; once_##i = 0)                                                       \
        for (const struct json_node *v = json_first(list); i < (list)->n_items; i++, v = json_next(v))

// A string's characters; a member's name: bytes of a name.
const char *schema_name(const struct json_node *n, size_t *n_name);
bool schema_same_name(const struct json_node *a, const struct json_node *b);
const struct json_node *schema_find(const struct json_node *members,
                                    const struct json_node *name); // of an object, or NULL
// A member that is an object, or NULL.
const struct json_node *schema_part(const struct json_node *schema, const char *name);
// The schemas of an array's first items (a list) and of the others; NULL: none.
const struct json_node *schema_first_items(const struct json_node *schema);
const struct json_node *schema_other_items(const struct json_node *schema);

bool schema_find_resources(struct context *c);
// What $ref refers to; NULL after stopping.
const struct json_node *schema_resolve(struct context *c, const struct json_node *ref);

// ---- forms ----

// The forms of the arrays or objects (type) of a set; free with mem_free(out->of).
bool schema_expand(struct context *c, unsigned type, const lit_id *lits, uint32_t n, struct forms *out);
// The ways in which a schema without its unevaluated* describes arrays or objects: their literals
// and layers.
bool schema_expand_evaluated(struct context *c, unsigned type, const lit_id *lits, uint32_t n, struct forms *out);
// The literals of the member's value, by all layers of the form. false: it may not occur.
bool schema_member_lits(struct context *c, const struct form *f, const struct json_node *name, lit_id *lits,
                        uint32_t *n);
// The literals of the item at this index, or with UINT32_MAX of those after all first ones.
uint32_t schema_item_lits(struct context *c, const struct form *f, uint32_t index, lit_id *lits);
// The literals of a member's value whose name is nobody's own, and matches just those of `patterns`
// that are in the set `cell`. false: there may be none.
bool schema_cell_lits(struct context *c, const struct form *f, const struct json_node *const *patterns,
                      uint32_t n_patterns, uint32_t cell, lit_id *lits, uint32_t *n);

// ---- symbols and texts ----

// A value that satisfies all of these, spelled as items and members are here; sorts them. SYM_NEVER
// after an error.
sym_id schema_value(struct context *c, lit_id *lits, uint32_t n);
sym_id schema_value_in(struct context *c, uint32_t spelling, lit_id *lits, uint32_t n);
void schema_write_object(struct context *c, const struct form *f, uint32_t rule);
// A name in `properties` of a layer of the form?
bool schema_declares(const struct form *f, const struct json_node *name);
void schema_write_array(struct context *c, const struct form *f, uint32_t rule);
// The same for unique items, of which the first n_first have schemas of their own; up to `max`.
void schema_write_unique(struct context *c, const struct form *f, uint32_t rule, uint32_t n_first, uint64_t max);

// ---- dependencies.c: between the declared members of an object ----

struct schema_tie { // of a member; sets of bits
    bool is_required, is_impossible;
    uint64_t wants;            // set where it is there
    uint64_t wanted, left_out; // its own bits: it has to come; it did not
    uint64_t not_beside;       // it does not come where one of these is set
    uint64_t kept;             // behind it
    uint32_t asked_until;      // the last member that asks for left_out
};

struct schema_pending { // in the arena
    struct schema_tie *of;
    uint32_t n_members, n_bits;
    uint64_t **known; // by the number of members that were passed: the sets that there can be, sorted
    uint32_t *n_known;
    uint32_t *first; // how many sets there are for smaller numbers
};
// names, is_required: of n declared members. false after stopping.
bool schema_find_pending(struct context *c, const struct form *f, const struct json_node *const *names,
                         const bool *is_required, uint32_t n, struct schema_pending *p);
// What is known behind member i. false: it may not be there, or has to be.
bool schema_after(const struct schema_pending *p, uint32_t i, uint64_t known, bool is_there, uint64_t *after);
uint32_t schema_known_index(const struct schema_pending *p, uint32_t passed, uint64_t known);

expr_id schema_quoted(struct context *c, expr_id content);
expr_id schema_name_expr(struct context *c, const struct json_node *name); // without quotes
// any string, with every escape
expr_id schema_free_text(struct context *c);
// spellings.c: makes them; arguments NULL: of JSON
void schema_spellings(struct context *c, enum json_space space, const struct arguments_form *arguments);
// A member of this name (node NULL: of one of the names) whose value satisfies n literals.
sym_id schema_member(struct context *c, const struct json_node *node, expr_id names, lit_id *lits, uint32_t n);
// names that are meant
expr_id schema_names(struct context *c, enum names_of which, const struct json_node *node);
bool schema_matches(struct context *c, expr_id x, const struct json_node *name);
expr_id schema_pattern(struct context *c, const struct json_node *pattern); // LIT_PATTERN's strings

#endif
