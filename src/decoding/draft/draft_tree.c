// decoding/draft/draft_tree.c - see draft_tree.h.
#include "decoding/draft/draft_tree.h"
#include <stdbool.h>

// A node that may be added next.
struct next_node {
    float reach, parent_reach; // products of shares
    int32_t depth, rank, parent;
    int32_t number; // in order of creation, which decides between equal products
};
// The best one first: each is above the two at 2 i + 1 and 2 i + 2.
struct heap {
    struct next_node at[DRAFT_MOST + 2]; // each node that is taken leaves room for one and brings two
    int32_t n, n_made;
};

static bool is_better(const struct next_node *a, const struct next_node *b) {
    return a->reach != b->reach ? a->reach > b->reach : a->number < b->number;
}

static void push(struct heap *h, const struct draft_level *levels, int32_t n_levels, struct next_node x) {
    int32_t i = h->n;
    if (x.depth == n_levels || x.rank == levels[x.depth].n) return;
    x.reach = x.parent_reach * levels[x.depth].shares[x.rank];
    x.number = h->n_made++;
    h->n++;
    for (; i > 0 && is_better(&x, &h->at[(i - 1) / 2]); i = (i - 1) / 2) h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = x;
}

static struct next_node pop(struct heap *h) {
    const struct next_node best = h->at[0], last = h->at[--h->n];
    int32_t i = 0;
    for (int32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && is_better(&h->at[child + 1], &h->at[child])) child++;
        if (is_better(&last, &h->at[child])) break;
        h->at[i] = h->at[child];
    }
    h->at[i] = last;
    return best;
}

void draft_tree_build(const struct draft_level *levels, int32_t n_levels, int32_t most, struct draft *out) {
    struct heap h = {.n = 0};
    out->n = 0;
    push(&h, levels, n_levels, (struct next_node){.parent_reach = 1, .parent = DRAFT_ROOT});
    while (h.n > 0 && out->n < most) {
        const struct next_node x = pop(&h);
        const struct draft_level *const l = &levels[x.depth];
        const int32_t node = out->n;
        draft_add(out, l->tokens[x.rank], x.parent, l->classes[x.rank]);
        push(&h, levels, n_levels, (struct next_node){.parent_reach = x.reach, .depth = x.depth + 1, .parent = node});
        push(&h, levels, n_levels,
             (struct next_node){
                 .parent_reach = x.parent_reach, .depth = x.depth, .rank = x.rank + 1, .parent = x.parent});
    }
}
