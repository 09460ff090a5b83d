// decoding/draft/draft.h - tokens that may follow: a tree of guesses, which the model evaluates in one step and the sampler's own draws confirm or not.
//
// Node i has the token tokens[i] and follows node parents[i] < i, or with DRAFT_ROOT the last token that is certain. A chain is a tree.
#ifndef RN_DECODING_DRAFT_DRAFT_H
#define RN_DECODING_DRAFT_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DRAFT_MOST = 63, // nodes: with the row before them they fill four tiles of rows
    DRAFT_DEFAULT = 16,
    DRAFT_ROOT = -1,
    DRAFT_NONE = -2
};

struct draft {
    int32_t n;
    int32_t tokens[DRAFT_MOST], parents[DRAFT_MOST];
    uint8_t classes[DRAFT_MOST]; // how sure the guess is: of draft_odds.h
    bool predicted[DRAFT_MOST];  // it is copied from the request's prediction
};

// What came of a stream's drafts.
struct draft_figures {
    int64_t n_predicted, n_predicted_right; // guesses from the prediction that were evaluated; of these, right
};

// Adds a node; there is room for it.
static inline void draft_add(struct draft *d, int32_t token, int32_t parent, int32_t class) {
    d->tokens[d->n] = token, d->parents[d->n] = parent, d->classes[d->n] = (uint8_t) class;
    d->predicted[d->n++] = false;
}

// The child of a node with this token; DRAFT_NONE: there is none.
static inline int32_t draft_child(const struct draft *d, int32_t node, int32_t token) {
    for (int32_t i = node + 1; i < d->n; i++)
        if (d->parents[i] == node && d->tokens[i] == token) return i;
    return DRAFT_NONE;
}

// Leaves the first `most` of the nodes that lie at most `deepest` tokens behind the last certain one.
void draft_cut(struct draft *d, int32_t most, int32_t deepest);

#endif
