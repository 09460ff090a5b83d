// decoding/draft/draft.h - tokens that may follow: a tree of guesses, which the model evaluates in one step and the sampler's own draws confirm or not.
//
// Node i has the token tokens[i] and follows node parents[i] < i, or with DRAFT_ROOT the last token that is certain. A chain is a tree.
#ifndef RN_DECODING_DRAFT_DRAFT_H
#define RN_DECODING_DRAFT_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DRAFT_MOST = 63, // nodes: with the row before them they fill four tiles of rows
    DRAFT_DEFAULT = 16,
    DRAFT_ROOT = -1,
    DRAFT_NONE = -2,
    DRAFT_SOURCE = 16 // tokens that guesses are drawn from, at most
};

// What the guesses for a position were drawn from: relative weights.
struct draft_source {
    int32_t n;
    bool is_put_back; // a token may be drawn again for the same position
    int32_t ids[DRAFT_SOURCE];
    double weights[DRAFT_SOURCE];
};

struct draft {
    int32_t n;
    int32_t tokens[DRAFT_MOST], parents[DRAFT_MOST];
    uint8_t classes[DRAFT_MOST]; // how sure the guess is: of draft_odds.h
    bool predicted[DRAFT_MOST];  // it is copied from the request's prediction
    // What it was drawn from, the children of a node in the order of drawing; the drafter's, until its
    // next draft. NULL: it was not drawn. Either all nodes were drawn or none.
    const struct draft_source *sources[DRAFT_MOST];
};
static inline bool draft_is_drawn(const struct draft *d) { return d->n > 0 && d->sources[0]; }

// Rows beside the guesses that a drafter learns from: scratch rows of the main sequence behind those of the draft, never accepted, not counted as guesses.
struct draft_rows {
    int32_t n;
    int32_t tokens[DRAFT_MOST], parents[DRAFT_MOST]; // of these rows, or DRAFT_ROOT
    bool has_logits[DRAFT_MOST];
};

// What came of a stream's drafts.
struct draft_figures {
    int64_t n_predicted, n_predicted_right; // guesses from the prediction that were evaluated; of these, right
};

// Guesses that are drawn at random, keyed as the sampler's draws are.
struct draft_draws {
    bool is_on;
    float temp; // above 0
    uint64_t seed;
    uint32_t choice, n_given; // n_given: position of the first token that is generated
};

// Adds a node; there is room for it.
static inline void draft_add(struct draft *d, int32_t token, int32_t parent, int32_t class) {
    d->tokens[d->n] = token, d->parents[d->n] = parent, d->classes[d->n] = (uint8_t) class;
    d->sources[d->n] = NULL;
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
