// decoding/draft/guess_pool.c - see guess_pool.h.
#include "decoding/draft/guess_pool.h"
#include <stddef.h>

void guess_pool_add(struct guess_pool *p, const struct pool_node *parent, int32_t token, int32_t class, float share) {
    const struct pool_node x = {.reach = (parent ? parent->reach : 1) * share,
                                .id = p->n_made++,
                                .parent = parent ? parent->id : DRAFT_ROOT,
                                .token = token,
                                .depth = parent ? parent->depth + 1 : 0,
                                .place = POOL_NO_ROW,
                                .class = (uint8_t) class};
    int32_t at = p->n;
    if (p->n == DRAFT_MOST && !(x.reach > p->nodes[--at].reach)) return;
    for (; at > 0 && p->nodes[at - 1].reach < x.reach; at--) p->nodes[at] = p->nodes[at - 1];
    p->nodes[at] = x;
    if (p->n < DRAFT_MOST) p->n++;
}

struct pool_node *guess_pool_find(struct guess_pool *p, int32_t id) {
    for (int32_t i = 0; i < p->n; i++)
        if (p->nodes[i].id == id) return &p->nodes[i];
    return NULL;
}

// A child is never reached more often than its parent, which is older: so parents come first, and nodes that fall out have no children left.
void guess_pool_draft(const struct guess_pool *p, struct draft *out) {
    out->n = 0;
    for (int32_t i = 0; i < p->n; i++) {
        int32_t parent = DRAFT_ROOT;
        for (int32_t k = 0; k < i; k++)
            if (p->nodes[k].id == p->nodes[i].parent) parent = k;
        draft_add(out, p->nodes[i].token, parent, p->nodes[i].class);
    }
}

// ---- another level --------------------------------------------------------------------------------------------------

// Tokens per time of the best draft of the n nodes with these reaches, descending; *n_best: its nodes.
static double best_rate(const float *reach, int32_t n, const struct pool_costs *c, double head_ns, int32_t *n_best) {
    double tokens = c->step->n_tokens, best = tokens / (head_ns + c->step->ns[0]);
    *n_best = 0;
    for (int32_t i = 0; i < n && i < c->most && i < c->step->most; i++) {
        tokens += (double)reach[i];
        const double rate = tokens / (head_ns + c->step->ns[i + 1]);
        if (rate > best) best = rate, *n_best = i + 1;
    }
    return best;
}

int32_t guess_pool_next(const struct guess_pool *p, const struct pool_costs *c, bool force, int32_t *ids,
                        int32_t most) {
    float reach[2 * DRAFT_MOST];
    int32_t n = p->n, n_found = 0, n_best;
    for (int32_t i = 0; i < n; i++) reach[i] = p->nodes[i].reach;
    const double now = best_rate(reach, n, c, c->spent_ns, &n_best),
                 row_ns = n_best < DRAFT_MOST ? c->step->ns[n_best + 1] - c->step->ns[n_best] : 0;
    for (int32_t i = 0; i < p->n && n_found < most; i++) {
        const struct pool_node *const x = &p->nodes[i];
        if (x->place != POOL_NO_ROW) continue;
        const float child = x->reach * draft_odds_of(c->depths, draft_class_of_depth(x->depth + 1));
        if (n_found > 0 &&
            ((double)child < now * row_ns || (p->n >= c->most && child <= p->nodes[c->most - 1].reach)))
            continue;
        int32_t at = n++;
        for (; at > 0 && reach[at - 1] < child; at--) reach[at] = reach[at - 1];
        reach[at] = child;
        ids[n_found++] = x->id;
    }
    return force || best_rate(reach, n, c, c->spent_ns + c->level_ns, &n_best) > now ? n_found : 0;
}
