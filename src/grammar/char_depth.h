// grammar/char_depth.h - how many characters of a kind a state of an automaton allows, whatever they are.
//
// Where it is as many as the tokens of a slice have, the slice's tokens are allowed without a look
// at each (vocab_trie.h).
// Ownership: char_depths_free(); the automaton is borrowed. Threads: one at a time.
#ifndef RN_GRAMMAR_CHAR_DEPTH_H
#define RN_GRAMMAR_CHAR_DEPTH_H

#include "grammar/dfa.h"
#include "grammar/vocab_trie.h"

struct char_depths {
    struct dfa *d;
    uint8_t *known; // [n_known][N_SLICE_KINDS] by state: the characters + 1; 0: not known yet
    uint32_t n_known;
    struct depth_search *search; // scratch
};

void char_depths_init(struct char_depths *c, struct dfa *d);
void char_depths_free(struct char_depths *c);
uint64_t char_depths_bytes(const struct char_depths *c); // that are allocated
// Characters of the kind that may follow in any order: 0..the most that a slice has. It may be
// fewer than there are, which does no harm. 0 after an error (d->e->status).
int char_depth(struct char_depths *c, uint32_t state, int kind);

#endif
