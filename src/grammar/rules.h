// grammar/rules.h - a context-free grammar over bytes, put together from symbols, and compiled to small automata.
//
// What is regular is merged into one terminal while symbols are built: terminals are expressions (expr.h), everything that
// recurses is a rule. Compiling drops what matches nothing, so that a parser never enters a dead end.
//
// Errors stick, as in expr.h: exprs_status() tells. Ownership: rules_free(); the expressions are borrowed. Threads: one at a time.
#ifndef RN_GRAMMAR_RULES_H
#define RN_GRAMMAR_RULES_H

#include "grammar/dfa.h"

typedef uint32_t sym_id;
enum { SYM_NEVER, SYM_EMPTY };

enum sym_kind { SYM_KIND_TERM, SYM_KIND_SEQ, SYM_KIND_ALT, SYM_KIND_RULE, SYM_KIND_REPEAT };

struct sym {
    enum sym_kind kind;
    uint32_t a, b;     // TERM: expression a. SEQ, ALT: b kids from a. RULE: rule a. REPEAT: of a
    uint32_t min, max; // REPEAT
};

enum edge_kind { EDGE_TERM, EDGE_CALL, EDGE_EMPTY };

struct edge {
    uint8_t kind;
    bool counts;   // it ends a round of its counted rule
    uint32_t what; // TERM: the first state in the dfa. CALL: a rule
    uint32_t to;   // a node
};

struct node { // a place in a rule
    uint32_t edges, n_edges;
    uint32_t rule;
    bool is_final;
};

struct link { // of a rule that is drawn as a graph
    uint32_t rule, from, to;
    sym_id sym;
};

struct rule {
    sym_id body;
    uint32_t min, max; // of a counted rule: rounds, checked at its first node. Else 0, 0
    uint32_t start;    // its first node
    uint32_t n_places; // of a graph; 0: the rule has a body
    uint32_t links, n_links;
    bool is_counted, is_defined, is_nullable, is_productive;
};

struct need { // a rule that has to match something
    uint32_t rule, tool;
};

struct rules {
    struct exprs *e;
    struct sym *syms;
    uint32_t n_syms, max_syms;
    sym_id *kids;
    uint32_t n_kids, max_kids;
    struct rule *rules;
    uint32_t n_rules, max_rules;
    struct node *nodes;
    uint32_t n_nodes, max_nodes;
    struct edge *edges;
    uint32_t n_edges;
    struct need *needs;
    uint32_t n_needs, max_needs;
    struct link *links; // sorted by their rules once compiled
    uint32_t n_links, max_links;
    uint8_t *marks; // scratch while it is compiled
    uint32_t limit; // nodes and edges at most
};

rn_status rules_init(struct rules *r, struct exprs *e, uint32_t limit, rn_error *err);
void rules_free(struct rules *r);
uint64_t rules_bytes(const struct rules *r); // that are allocated

sym_id sym_term(struct rules *r, expr_id x);
sym_id sym_text(struct rules *r, const char *s, size_t n);
sym_id sym_seq(struct rules *r, const sym_id *kids, size_t n);
sym_id sym_alt(struct rules *r, const sym_id *kids, size_t n);
sym_id sym_repeat(struct rules *r, sym_id a, uint32_t min, uint32_t max); // max EXPR_NO_MAX: without end
sym_id sym_rule(struct rules *r, uint32_t rule);
bool sym_is_regular(const struct rules *r, sym_id a); // is it one terminal?

uint32_t rule_new(struct rules *r);                // to be defined later
uint32_t rule_of_term(struct rules *r, expr_id x); // a new one, of one terminal
void rule_define(struct rules *r, uint32_t rule, sym_id body);
// A rule as a graph: a text of it leads from place 0 to place 1. Places are numbered by the caller.
void rule_link(struct rules *r, uint32_t rule, uint32_t from, uint32_t to, sym_id sym);

// Compiling fails unless the rule matches something: the arguments of a tool, as errors name it.
void rule_need(struct rules *r, uint32_t rule, uint32_t tool);

// Makes the nodes. d: has its expressions from `e`, and was made after all of them.
// Errors: RN_E_FORMAT: the grammar matches nothing; what exprs_status() says.
rn_status rules_compile(struct rules *r, uint32_t start, struct dfa *d, rn_error *err);

#endif
