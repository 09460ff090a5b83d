// grammar/dfa.h - a deterministic automaton over bytes whose states are expressions, made as they
// are reached.
//
// A state is entered only if some text leads on from it to a match, so that there are no dead ends.
// Ownership: dfa_free() releases; the expressions are borrowed and grow. Threads: one at a time.
#ifndef RN_GRAMMAR_DFA_H
#define RN_GRAMMAR_DFA_H

#include "grammar/expr.h"

enum { DFA_DEAD = 0 }; // the state from which nothing matches
#define DFA_UNKNOWN UINT32_MAX

struct dfa_state {
    expr_id expr;
    bool accepts;
};

struct dfa_visit {
    expr_id expr;
    uint32_t parent, next_class;
    uint32_t length, total; // bytes up to it; and of a match through it, at least
    uint32_t heap;          // the heap of visits by total, by its own index
};

struct dfa {
    struct exprs *e;
    struct dfa_state *states;
    uint32_t *next; // [n_states][e->n_classes]; DFA_UNKNOWN: not made yet
    uint32_t n_states, max_states;
    uint32_t *state_of; // [n_state_of] of an expression, 0: none
    // [n_state_of] of an expression: 0 unknown, 1 it matches something, 2 nothing, 3 being visited
    uint8_t *life;
    uint32_t n_state_of;
    struct dfa_visit *visits; // of the search for a match
    uint32_t max_visits;
    uint32_t search_limit;
    uint64_t work_limit; // of the search in progress, by e->work
};

// e: all sets of bytes are in it. search_limit: the most expressions that are looked at to find out
// whether one of them matches anything.
rn_status dfa_init(struct dfa *d, struct exprs *e, uint32_t search_limit, rn_error *err);
void dfa_free(struct dfa *d);
uint64_t dfa_bytes(const struct dfa *d); // that are allocated

// The state of an expression; DFA_DEAD if it matches nothing, or after an error (e->status).
uint32_t dfa_state(struct dfa *d, expr_id x);
// The state after a byte of this class.
uint32_t dfa_make_next(struct dfa *d, uint32_t state, uint32_t byte_class);
static inline uint32_t dfa_next(struct dfa *d, uint32_t state, uint32_t byte_class) {
    const uint32_t to = d->next[(size_t)state * d->e->n_classes + byte_class];
    return to != DFA_UNKNOWN ? to : dfa_make_next(d, state, byte_class);
}
// Finds out whether the expression matches any text, which `life` remembers: true in
// dfa_known_alive() from then on.
void dfa_settle(struct dfa *d, expr_id x);
static inline bool dfa_known_alive(const struct dfa *d, expr_id x) { return d->life[x] == 1; }

#endif
