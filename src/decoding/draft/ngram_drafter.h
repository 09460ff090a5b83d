// decoding/draft/ngram_drafter.h - drafts from the text itself: what followed the last occurrence of its end.
//
// Ownership: the tokens are lent for the drafter's life; they may change and grow as the text does. Threads: one at a time.
#ifndef RN_DECODING_DRAFT_NGRAM_DRAFTER_H
#define RN_DECODING_DRAFT_NGRAM_DRAFTER_H

#include "decoding/draft/draft.h"
#include "decoding/draft/draft_odds.h"
#include "decoding/draft/ngram_index.h"

struct ngram_drafter {
    struct ngram_index index;
    const int32_t *tokens; // [n_most] lent: prompt and answer
    struct draft_odds odds;
    // The last guess, whether it was evaluated or not: what follows the first `at` tokens.
    int32_t at;
    struct ngram_match match;
    struct draft guess;
};

// RN_E_NOMEM.
rn_status ngram_drafter_init(struct ngram_drafter *d, const int32_t *tokens, int32_t n_most, rn_error *err);
void ngram_drafter_free(struct ngram_drafter *d); // of {0}, too
// Guesses what follows the first n tokens, in a chain of at most `most` nodes, and of these as many as pay, but not fewer than `least`. Looks
// first which of the last guesses were right.
void ngram_drafter_draft(struct ngram_drafter *d, int32_t n, int32_t least, int32_t most,
                         const struct draft_step *step, struct draft *out);
// Only the first n tokens stay; others take the place of those behind.
void ngram_drafter_cut(struct ngram_drafter *d, int32_t n);

#endif
