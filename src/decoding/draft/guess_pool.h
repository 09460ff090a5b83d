// decoding/draft/guess_pool.h - a tree of guesses that grows a level at a time: which nodes a head should look behind next, and whether that pays.
//
// EAGLE-2's dynamic tree (2406.16858), with measured shares of right guesses in place of the head's own probabilities.
#ifndef RN_DECODING_DRAFT_GUESS_POOL_H
#define RN_DECODING_DRAFT_GUESS_POOL_H

#include "decoding/draft/draft.h"
#include "decoding/draft/draft_odds.h"

struct pool_node {
    float reach;          // product of the shares on its path
    int32_t id, parent;   // numbers in order of creation; DRAFT_ROOT
    int32_t token, depth; // depth 0: behind the last certain token
    int32_t place;        // the caller's, of its row; POOL_NO_ROW
    uint8_t class;        // of the drafter's odds
};
enum { POOL_NO_ROW = -1 };
// The nodes that are reached most often, in this order; of equal ones the older one first. What does not fit could never be in a draft.
struct guess_pool {
    int32_t n, n_made;
    struct pool_node nodes[DRAFT_MOST];
};

static inline void guess_pool_clear(struct guess_pool *p) { p->n = p->n_made = 0; }
// Adds a guess behind a node, or with NULL behind the last certain token. `parent` is invalid afterwards, and so are others of the pool.
void guess_pool_add(struct guess_pool *p, const struct pool_node *parent, int32_t token, int32_t class, float share);
// NULL: it is not there, or no longer.
struct pool_node *guess_pool_find(struct guess_pool *p, int32_t id);
// All nodes, parents before children.
void guess_pool_draft(const struct guess_pool *p, struct draft *out);

// What another level may cost.
struct pool_costs {
    const struct draft_step *step;   // of the main model
    const struct draft_odds *depths; // how often any guess at a depth was right where its parent was
    int32_t most;                    // nodes of the draft
    double spent_ns;                 // for the levels so far
    double level_ns;                 // for another one
};
/**
 * The nodes behind which guesses are expected to pay for another level, most promising first.
 *
 * @param ids   [most].
 * @param force whether it pays or not.
 * @return how many; 0: the tree is large enough.
 */
int32_t guess_pool_next(const struct guess_pool *p, const struct pool_costs *costs, bool force, int32_t *ids,
                        int32_t most);

#endif
