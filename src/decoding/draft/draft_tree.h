// decoding/draft/draft_tree.h - the best tree of guesses where those of a depth do not depend on the ones before (Medusa heads).
#ifndef RN_DECODING_DRAFT_DRAFT_TREE_H
#define RN_DECODING_DRAFT_DRAFT_TREE_H

#include "decoding/draft/draft.h"
#include "decoding/draft/draft_top.h"

// What may be guessed at a depth, the likeliest first.
struct draft_level {
    int32_t n;
    int32_t tokens[DRAFT_TOP_MOST], classes[DRAFT_TOP_MOST];
    float shares
        [DRAFT_TOP_MOST]; // how often such a guess is right where the one before it was, 0..1, none above the one before
};
/**
 * The `most` nodes with the largest products of shares along their paths, in this order: since a child's is never larger than
 * its parent's, no other tree of as many nodes has a larger sum, which is the number of right guesses to expect (Sequoia, 2402.12374).
 */
void draft_tree_build(const struct draft_level *levels, int32_t n_levels, int32_t most, struct draft *out);

#endif
