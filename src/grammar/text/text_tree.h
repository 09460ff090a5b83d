// grammar/text/text_tree.h - a grammar's text as trees of its rules' bodies, and the symbols that these become.
//
// The parsers (gbnf.c, lark_parser.c) fill a text_tree; text_build() makes the symbols. Errors stick in `st`.
// Ownership: text_tree_free(). Threads: one at a time.
#ifndef RN_GRAMMAR_TEXT_TEXT_TREE_H
#define RN_GRAMMAR_TEXT_TEXT_TREE_H

#include "grammar/chars.h"
#include "grammar/text/grammar_text.h"
#include "grammar/text/lark_param.h"

#define TEXT_NONE UINT32_MAX

enum text_kind {
    TEXT_EXPR,      // a: an expression, b: its weight
    TEXT_TOKEN,     // a: an expression of special tokens
    TEXT_ANY_TOKEN, // a: an expression of special tokens; or a token with text, but for the text b (EXPR_NEVER: any)
    TEXT_REF,       // a: a definition, b: its argument, or TEXT_NONE
    TEXT_RULE,      // a: a rule that is defined already
    TEXT_SEQ,
    TEXT_ALT,
    TEXT_AND, // b kids from a
    TEXT_NOT,
    TEXT_REPEAT, // of a
    TEXT_IF,     // a, where condition b holds
};

struct text_node {
    uint8_t kind;
    uint16_t depth;
    uint32_t a, b, min, max;
    uint32_t at; // in the text
};

struct text_def { // a rule or a terminal
    const char *name;
    uint32_t n_name, scope;
    uint32_t at;               // where it is defined; TEXT_NONE: not yet
    uint32_t used_at;          // where it is named first
    uint32_t body;             // a node
    uint32_t nodes, end_nodes; // those of its body
    uint32_t suffix;           // of a lazy rule: a node that ends it, TEXT_NONE: none
    bool is_terminal, is_lazy, is_empty, has_param;
    // While symbols are made:
    uint8_t state;
    uint32_t rule;   // of rules.h, TEXT_NONE: not made
    sym_id sym;      // of a rule that is one terminal
    expr_id expr;    // of a terminal
    uint32_t weight; // of its expression
};

struct text_scope {  // a grammar within a grammar has names of its own
    uint32_t ignore; // a node, TEXT_NONE: none
    bool ignore_once, allow_initial;
    expr_id skip; // what may follow a terminal
};

struct text_tree {
    struct rules *r;
    struct exprs *e;
    const char *s;
    uint32_t n, at;
    const struct grammar_text_options *o;
    struct text_node *nodes;
    uint32_t n_nodes, max_nodes;
    uint32_t *kids;
    uint32_t n_kids, max_kids;
    uint32_t *stack; // of kids to come
    uint32_t n_stack, max_stack;
    struct text_def *defs;
    uint32_t n_defs, max_defs;
    uint32_t *def_table, def_table_size;
    struct text_scope *scopes;
    uint32_t n_scopes, max_scopes;
    struct param_list params;
    uint32_t scope, nested;
    rn_status st;
    rn_error *err;
};

void text_tree_init(struct text_tree *t, struct rules *r, const char *s, size_t n,
                    const struct grammar_text_options *o, rn_error *err);
void text_tree_free(struct text_tree *t);

// Stops with `LINE:COLUMN: WHY`; the first error stays. Returns TEXT_NONE.
uint32_t text_stop(struct text_tree *t, rn_status st, uint32_t at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void text_note(struct text_tree *t, uint32_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool text_ok(struct text_tree *t); // also looks at the expressions
// The word or character at a place, for messages: whole characters, at most 40 bytes.
const char *text_word(const struct text_tree *t, uint32_t at, int *n);

bool text_grow(struct text_tree *t, void *array, uint32_t n, uint32_t *max, size_t size);
uint32_t text_scope(struct text_tree *t); // a new one
// The definition of a name in the current scope, made if there is none.
uint32_t text_def(struct text_tree *t, const char *name, uint32_t n, uint32_t at);

uint32_t text_node(struct text_tree *t, struct text_node x);
uint32_t text_expr(struct text_tree *t, uint32_t at, expr_id x, uint32_t weight);
void text_push(struct text_tree *t, uint32_t node);
// The nodes pushed since `from` as one; one alone stays what it is.
uint32_t text_list(struct text_tree *t, enum text_kind kind, uint32_t from, uint32_t at);
uint32_t text_repeat(struct text_tree *t, uint32_t at, uint32_t node, uint32_t min, uint32_t max);
// A number of digits at t->at, which moves; more than GRAMMAR_TEXT_MAX_REPEAT stops.
uint32_t text_count(struct text_tree *t);

// Special tokens: by text, which may be an ordinary token's, too, or by id. `any_other`: every token but these.
uint32_t text_token_named(struct text_tree *t, uint32_t at, uint32_t n, bool any_other);
struct token_range {
    uint32_t from, to; // inclusive
};
uint32_t text_tokens(struct text_tree *t, uint32_t at, const struct token_range *ranges, uint32_t n, bool any_other);

// Makes the symbols of all that `start` reaches.
rn_status text_build(struct text_tree *t, uint32_t start, uint32_t *rule);

#endif
