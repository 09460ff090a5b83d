// decoding/draft/suffix_automaton.h - the longest end of a text that stood in it before, in amortized
// constant time for each token: a suffix automaton (Blumer et al. 1985) that can go back.
//
// A state stands for the strings that end at the same places; its link for the longest of their ends
// that also stand elsewhere. So the link of the whole text's state is the longest repeated end. Each
// change of a state that was there is noted in a journal, and a cut takes the changes back. A cut that
// goes back further than the journal empties the automaton, which then reads the text again.
//
// Memory: 48 bytes for each token of the text, 24 for each edge of a state behind its first one, of
// which there are fewer than tokens; pages that are not touched take none.
//
// Ownership: the tokens are lent for each call and must begin with those of the calls before, but for
// what suffix_automaton_cut() dropped. A negative token may stand in it once: it parts two texts.
// Threads: one at a time.
#ifndef RN_DECODING_DRAFT_SUFFIX_AUTOMATON_H
#define RN_DECODING_DRAFT_SUFFIX_AUTOMATON_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUFFIX_JOURNAL = 4096, // changes that can be taken back
    SUFFIX_RECENT = 32     // repeated ends of the text, the longest first, whose last place is known
};

struct suffix_state {
    int32_t len, link;
    int32_t first, recent; // where its strings end: the first place, and a later one
    int32_t next;          // the edge with the token behind `first`; 0: there is none
    int32_t edges;         // the others: index + 1 of the latest one; 0: none
};
struct suffix_edge {
    int32_t from, token, to; // from: state + 1; 0: the place is free
    int32_t more;            // of the same state: index + 1; 0: none
};
// A value before its change; at NULL: a token was added, before which there were so many states.
struct suffix_change {
    int32_t *at;
    int32_t old;
};

struct suffix_automaton {
    struct suffix_state *states; // [2 * n_most], the first one of the empty string
    struct suffix_edge *edges;   // [n_edges] a hash table with linear probing
    size_t n_edges;
    int32_t n_states, last;        // last: the state of the whole text
    int32_t n, n_most;             // tokens that are in it, and at most
    struct suffix_change *journal; // [SUFFIX_JOURNAL] a ring
    uint64_t n_changes, n_lost;    // ever noted and not taken back; of these, no longer in the ring
};

// RN_E_NOMEM.
rn_status suffix_automaton_init(struct suffix_automaton *x, int32_t n_most, rn_error *err);
size_t suffix_automaton_bytes(int32_t n_most);          // that one of so many tokens allocates
void suffix_automaton_free(struct suffix_automaton *x); // of {0}, too
// Adds tokens[x->n .. n), but at most `most` of them, and none beyond n_most. true: x->n is n.
bool suffix_automaton_add(struct suffix_automaton *x, const int32_t *tokens, int32_t n, int32_t most);
// Only the first n tokens stay, or none (then x->n is 0).
void suffix_automaton_cut(struct suffix_automaton *x, int32_t n);

struct suffix_match {
    int32_t at; // the place behind the earlier occurrence, where its continuation begins
    int32_t n;  // tokens that match; 0: none does
};
// The longest end of the text, tokens[0 .. x->n), that stood in it before: its most recent place, if it is
// among the SUFFIX_RECENT longest such ends whenever it occurs, else some place.
struct suffix_match suffix_automaton_find(const struct suffix_automaton *x);
// What else may follow: a shorter end of the text than `longest`, which suffix_automaton_find() gave, that
// has another token behind its last place; of the SUFFIX_RECENT longest that occur again, the longest.
struct suffix_match suffix_automaton_find_other(const struct suffix_automaton *x, const int32_t *tokens,
                                                struct suffix_match longest);

#endif
