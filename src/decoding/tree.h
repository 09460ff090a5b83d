// decoding/tree.h - the nodes of tree search, and the rows that they have in the sequences of its models.
//
// A lane is one sequence with rows of nodes: the main one, and that of the model that says what texts are worth. Rows of nodes are scratch
// rows. What was emitted stays among them until there is no room for more, or a token has no row; then it is kept, and rows of the nodes that are left are
// evaluated again where they are needed.
//
// Ownership: plain data of the strategy. Threads: the step thread.
#ifndef RN_DECODING_TREE_H
#define RN_DECODING_TREE_H

#include "decoding/strategy.h"

enum {
    TREE_LEAVES = 4,                           // evaluated in one step
    TREE_SCRATCH = 64,                         // rows of a lane
    TREE_DEEPEST = TREE_SCRATCH / TREE_LEAVES, // below the answer's end
    TREE_NOWHERE = -1,                         // no node, or no row
    TREE_ROOT = 0
};
enum { TREE_MAIN, TREE_VALUE, TREE_LANES };

struct tree_node {
    int32_t token, parent, first_child, n_children;
    int32_t depth;           // below the answer's end
    int32_t row[TREE_LANES]; // scratch node; TREE_NOWHERE
    bool wants[TREE_LANES];  // its row's results
    int32_t n, n_loss;       // visits; of leaves that are being evaluated
    double logprob;          // sum of the answer's tokens up to it
    double value;            // what a model or the caller's function says; of another language model a sum as logprob
    double sum, best;        // of the values below it; of the texts that have ended
    double prior;
    bool ends, is_expanded, is_solved, is_valued; // is_valued: `value` is known
};

struct tree_lane {
    int32_t which, slot, seq; // of TREE_MAIN, ...; the strategy's own numbers
    uint32_t want;            // LM_WANT_LOGITS or LM_WANT_HIDDEN
    // The last tokens of the answer, which are scratch rows; those behind them have none.
    int32_t tail[TREE_SCRATCH], n_tail;
    int32_t n_rows;                             // scratch rows of the sequence
    int32_t queue[TREE_SCRATCH], n_queue, next; // nodes to be evaluated
    int32_t n_append;                           // tokens of the answer that go before these
};

// Prompt and answer, whose end is the tree's root.
struct tree_text {
    const int32_t *tokens; // [n]
    int32_t n;
};

// The sequence lost its scratch rows.
void tree_lane_forget(struct tree_lane *l, struct tree_node *nodes, int32_t n_nodes);
// A child of the root was emitted.
void tree_lane_emit(struct tree_lane *l, const struct tree_node *child);
// Rows of those targets that want results, and of what they stand on, are to be evaluated next. keep: may keep what was emitted.
rn_status tree_lane_queue(struct tree_lane *l, const struct strategy_env *env, bool keep, struct tree_node *nodes,
                          int32_t n_nodes, const int32_t *targets, int32_t n_targets, struct tree_text text,
                          rn_error *err);
void tree_lane_propose(const struct tree_lane *l, const struct tree_node *nodes, struct tree_text text,
                       struct row_list *rows);
// The node of the next row that was proposed: the root for the answer's last token, TREE_NOWHERE for one before it.
int32_t tree_lane_take(struct tree_lane *l, struct tree_node *nodes);
static inline bool tree_lane_is_done(const struct tree_lane *l) { return l->n_append == 0 && l->next == l->n_queue; }

#endif
