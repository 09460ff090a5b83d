// grammar/automata.h - all that is made of a grammar's source to read texts with: expressions, rules, automaton, recognizer.
//
// Ownership: automata_free(), also after an error. The parts refer to each other: the struct does not move. Threads: one at a time.
#ifndef RN_GRAMMAR_AUTOMATA_H
#define RN_GRAMMAR_AUTOMATA_H

#include "grammar/recognizer.h"

struct automata {
    struct exprs exprs;
    struct rules rules;
    struct dfa dfa;
    struct recognizer recognizer;
};

struct automata_limits {
    uint32_t n_exprs;   // exprs_init()
    uint32_t n_nodes;   // rules_init()
    uint32_t n_search;  // dfa_init()
    uint32_t n_configs; // recognizer_init()
};

// Puts a source's rules together; *start: the rule of a whole text.
typedef rn_status (*automata_compile)(struct rules *r, const void *source, uint32_t *start, rn_error *err);
// Errors: those of compile(); RN_E_FORMAT: the grammar matches nothing; RN_E_LIMIT, RN_E_NOMEM. *a is
// empty then.
rn_status automata_make(struct automata *a, const struct automata_limits *limits, automata_compile compile,
                        const void *source, rn_error *err);
void automata_free(struct automata *a);
uint64_t automata_bytes(const struct automata *a); // that are allocated

#endif
