// grammar/char_depth.h - how many characters of a kind a state of an automaton allows, whatever they are, and how
// many at most.
//
// Tokens that have no more characters than the first are allowed, and those with more than the second are
// not, without a look at each (vocab_trie.h).
// Ownership: char_depths_free(); the automaton is borrowed. Threads: one at a time.
#ifndef RN_GRAMMAR_CHAR_DEPTH_H
#define RN_GRAMMAR_CHAR_DEPTH_H

#include "grammar/dfa.h"
#include "grammar/vocab_trie.h"

struct char_depth {
    uint8_t any; // as many characters of the kind may follow in any order: 0..SLICE_MOST_CHARS
    uint8_t
        most; // no more of them can follow within this terminal, whatever they are; CHAR_DEPTH_UNBOUNDED: not known
};
enum { CHAR_DEPTH_UNBOUNDED = UINT8_MAX };

struct known_depth {
    bool is_known;
    struct char_depth depth;
};
struct char_depths {
    struct dfa *d;
    struct known_depth *known; // [n_known][N_SLICE_KINDS] by state
    uint32_t n_known;
    struct depth_search *search; // scratch
};

void char_depths_init(struct char_depths *c, struct dfa *d);
void char_depths_free(struct char_depths *c);
uint64_t char_depths_bytes(const struct char_depths *c); // that are allocated
// What is known about a state. `any` may be fewer than there are, and `most` more, which does no harm. None after
// an error (d->e->status).
struct char_depth char_depth(struct char_depths *c, uint32_t state, int kind);

#endif
