// decoding/tree_lane.c - the rows of a tree's nodes in one sequence.
#include "decoding/tree.h"

enum { PLANNED = -2 }; // a row in the queue

void tree_lane_forget(struct tree_lane *l, struct tree_node *nodes, int32_t n_nodes) {
    for (int32_t i = 0; i < n_nodes; i++) nodes[i].row[l->which] = TREE_NOWHERE;
    l->n_rows = l->n_tail = 0;
}

void tree_lane_emit(struct tree_lane *l, const struct tree_node *child) {
    if (child->row[l->which] >= 0) l->tail[l->n_tail++] = child->row[l->which];
}

// ---- what is evaluated ----------------------------------------------------------------------------------------------

// Tokens of the text that neither are in the sequence nor have a row.
static int32_t n_behind(const struct tree_lane *l, const struct strategy_env *env, struct tree_text text) {
    return text.n - env->ops->seq_len(env->user, l->seq) - l->n_tail;
}

static void queue_node(struct tree_lane *l, struct tree_node *nodes, int32_t i) {
    int32_t path[TREE_DEEPEST + 1], n = 0;
    for (; i != TREE_ROOT && nodes[i].row[l->which] == TREE_NOWHERE; i = nodes[i].parent) path[n++] = i;
    while (n > 0) {
        nodes[path[--n]].row[l->which] = PLANNED;
        l->queue[l->n_queue++] = path[n];
    }
}

rn_status tree_lane_queue(struct tree_lane *l, const struct strategy_env *env, bool keep, struct tree_node *nodes,
                          int32_t n_nodes, const int32_t *targets, int32_t n_targets, struct tree_text text,
                          rn_error *err) {
    int32_t n = 0; // scratch rows, if none of the nodes' is left
    for (int32_t i = 0; i < n_targets; i++) n += nodes[targets[i]].wants[l->which] ? nodes[targets[i]].depth : 0;
    if (keep && l->n_rows > 0 && (n_behind(l, env, text) > 0 || l->n_rows + n > TREE_SCRATCH)) {
        const rn_status st = env->ops->seq_keep(env->user, l->seq, l->tail, l->n_tail, err);
        tree_lane_forget(l, nodes, n_nodes);
        if (st != RN_OK) return st;
    }
    for (int32_t i = l->next; i < l->n_queue; i++)
        if (nodes[l->queue[i]].row[l->which] == PLANNED) nodes[l->queue[i]].row[l->which] = TREE_NOWHERE;
    l->n_append = n_behind(l, env, text);
    l->n_queue = l->next = 0;
    for (int32_t i = 0; i < n_targets; i++)
        if (nodes[targets[i]].wants[l->which]) queue_node(l, nodes, targets[i]);
    return RN_OK;
}

void tree_lane_propose(const struct tree_lane *l, const struct tree_node *nodes, struct tree_text text,
                       struct row_list *rows) {
    const bool wants_root = nodes[TREE_ROOT].wants[l->which], is_limited = l->want == LM_WANT_LOGITS;
    int32_t n = l->n_rows, first[TREE_SCRATCH] = {0};
    size_t n_wanted = wants_root;
    for (int32_t i = 0; i < l->n_append && rows->n < rows->cap; i++)
        rows->rows[rows->n++] = (struct lm_row){.seq = l->seq,
                                                .token = text.tokens[text.n - l->n_append + i],
                                                .parent = LM_APPEND,
                                                .want = i == l->n_append - 1 && wants_root ? l->want : 0};
    if (rows->n < (size_t)l->n_append) return;
    for (int32_t i = l->next; i < l->n_queue && rows->n < rows->cap; i++) {
        const struct tree_node *const a = &nodes[l->queue[i]];
        int32_t parent =
            a->parent == TREE_ROOT ? (l->n_tail ? l->tail[l->n_tail - 1] : LM_ROOT) : nodes[a->parent].row[l->which];
        for (int32_t k = l->next; parent == PLANNED; k++)
            if (l->queue[k] == a->parent) parent = first[k];
        if (a->wants[l->which] && n_wanted++ == rows->n_logits && is_limited) return;
        first[i] = n++;
        rows->rows[rows->n++] = (struct lm_row){
            .seq = l->seq, .token = a->token, .parent = parent, .want = a->wants[l->which] ? l->want : 0};
    }
}

int32_t tree_lane_take(struct tree_lane *l, struct tree_node *nodes) {
    if (l->n_append > 0) return --l->n_append == 0 ? TREE_ROOT : TREE_NOWHERE;
    const int32_t at = l->queue[l->next++];
    nodes[at].row[l->which] = l->n_rows++;
    return at;
}
