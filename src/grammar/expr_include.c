// grammar/expr_include.c - see expr.h: what a form tells about which texts it matches.
//
// What patterns like (.{1,63}\.){1,127} derive to are alternatives for every way to divide the text so far. Most of them match
// only what another one does, with fewer repetitions left, and their number would grow with the square of the text.
#include "grammar/expr.h"

enum { MOST_STEPS = 48, MOST_KIDS = 64, HEADS = 4 };

struct part { // the first part of a sequence, as a repetition, and what follows it
    expr_id of, rest;
    uint32_t min, max;
};

static struct part part_of(const struct exprs *e, expr_id x) {
    const struct expr *const n = &e->nodes[x];
    const expr_id head = n->kind == EXPR_KIND_CAT ? n->a : x,
                  rest = n->kind == EXPR_KIND_CAT ? n->b : (expr_id)EXPR_EMPTY;
    const struct expr *const h = &e->nodes[head];
    if (h->kind == EXPR_KIND_REPEAT) return (struct part){h->a, rest, h->min, h->max};
    return (struct part){head, rest, 1, 1};
}

static bool is_subset(const struct exprs *e, expr_id x, expr_id y) {
    const struct expr *const a = &e->nodes[x], *const b = &e->nodes[y];
    if (a->kind != EXPR_KIND_BYTES || b->kind != EXPR_KIND_BYTES) return x == y;
    struct byte_set both = e->sets[a->a];
    byte_set_and(&both, &e->sets[b->a]);
    return byte_set_equal(&both, &e->sets[b->a]);
}

// Does x match all that y matches, as their forms tell?
static bool includes(const struct exprs *e, expr_id x, expr_id y, int *n_steps) {
    if (x == y || x == EXPR_ANY || y == EXPR_NEVER) return true;
    if (y == EXPR_EMPTY) return expr_nullable(e, x);
    if (x == EXPR_NEVER || x == EXPR_EMPTY || --*n_steps < 0) return false;
    const struct expr n = e->nodes[x];
    for (uint32_t i = 0; n.kind == EXPR_KIND_OR && i < n.b; i++)
        if (includes(e, e->kids[n.a + i], y, n_steps)) return true;
    const struct part a = part_of(e, x), b = part_of(e, y);
    if (is_subset(e, a.of, b.of) && a.min <= b.min && b.max <= a.max && includes(e, a.rest, b.rest, n_steps))
        return true;
    return (a.min == 0 || expr_nullable(e, a.of)) && includes(e, a.rest, y, n_steps);
}

bool expr_excludes(const struct exprs *e, const expr_id *kids, uint32_t n) {
    for (uint32_t i = 0; i < n && n <= MOST_KIDS; i++) {
        const struct expr *const x = &e->nodes[kids[i]];
        for (uint32_t k = 0; x->kind == EXPR_KIND_NOT && k < n; k++) {
            int n_steps = MOST_STEPS;
            if (k != i && includes(e, x->a, kids[k], &n_steps)) return true;
        }
    }
    return false;
}

// May a text of x begin with whatever one of y begins with?
static bool starts_with_all(const struct exprs *e, expr_id x, expr_id y) {
    const struct byte_set *const a = &e->nodes[x].first, *const b = &e->nodes[y].first;
    uint64_t more = 0;
    for (int i = 0; i < 4; i++) more |= b->bits[i] & ~a->bits[i];
    return more == 0;
}

static bool repeats(const struct exprs *e, expr_id x) {
    for (int i = 0; i < HEADS; i++) {
        const struct expr *const n = &e->nodes[x];
        const struct expr *const head = n->kind == EXPR_KIND_CAT ? &e->nodes[n->a] : n;
        if (head->kind == EXPR_KIND_REPEAT) return true;
        if (n->kind != EXPR_KIND_CAT) return false;
        x = n->b;
    }
    return false;
}

uint32_t expr_drop_included(const struct exprs *e, expr_id *kids, uint32_t n) {
    uint32_t n_repeats = 0, m = 0;
    for (uint32_t i = 0; i < n && n <= MOST_KIDS; i++) n_repeats += repeats(e, kids[i]);
    if (n_repeats < 2) return n;
    for (uint32_t i = 0; i < n; i++) {
        bool is_included = false;
        for (uint32_t k = 0; k < n && !is_included; k++) {
            int n_steps = MOST_STEPS;
            // of two that include each other the first one stays
            is_included = k != i && kids[k] != EXPR_NEVER && starts_with_all(e, kids[k], kids[i]) &&
                          includes(e, kids[k], kids[i], &n_steps);
        }
        if (is_included) kids[i] = EXPR_NEVER;
    }
    for (uint32_t i = 0; i < n; i++)
        if (kids[i] != EXPR_NEVER) kids[m++] = kids[i];
    return m;
}
