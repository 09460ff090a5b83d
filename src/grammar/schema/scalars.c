// grammar/schema/scalars.c - the strings and the numbers of a set of literals, each as one regular expression.
//
// They are closed under and, or and not, so that no combination of alternatives is ever written out.
#include "grammar/schema/context.h"
#include <string.h>

static expr_id combine(struct context *c, lit_id id, unsigned type);

static expr_id remembered(struct context *c, lit_id id, unsigned type) {
    const struct meaning *const known = schema_meaning(c, id);
    if (!known || !(known->may & type)) return EXPR_NEVER;
    if (known->must & type) return EXPR_ANY;
    struct meaning *const k = c->meanings[c->now->coding][id];
    bool *const has = type == TYPE_STRING ? &k->has_string : &k->has_number;
    expr_id *const x = type == TYPE_STRING ? &k->string : &k->number;
    if (!*has) *x = combine(c, id, type), *has = true;
    return *x;
}

static expr_id all_of(struct context *c, const struct list *lits, unsigned type) {
    expr_id x = EXPR_ANY;
    for (const struct list *l = lits; l && x != EXPR_NEVER && schema_ok(c); l = l->next)
        x = expr_and2(c->e, x, remembered(c, l->lit, type));
    return x;
}

static expr_id combine(struct context *c, lit_id id, unsigned type) {
    const struct meaning *const k = c->meanings[c->now->coding][id];
    expr_id x = expr_and2(c->e, type == TYPE_STRING ? k->own.string : k->own.number, all_of(c, k->rest.todo, type));
    for (const struct choice *choice = k->rest.choices; choice && schema_ok(c); choice = choice->next) {
        expr_id *const ways = schema_alloc(c, (choice->n + 1) * sizeof *ways);
        for (uint32_t i = 0; ways && i < choice->n; i++) ways[i] = all_of(c, choice->ways[i], type);
        if (ways) x = expr_and2(c->e, x, expr_or(c->e, ways, choice->n));
    }
    return x;
}

static expr_id of_set(struct context *c, const lit_id *lits, uint32_t n, unsigned type) {
    expr_id few[SCHEMA_MAX_PART_LITS], *const all =
                                           n <= SCHEMA_MAX_PART_LITS ? few : schema_alloc(c, n * sizeof *all);
    for (uint32_t i = 0; all && i < n && schema_ok(c); i++) {
        all[i] = remembered(c, lits[i], type);
        if (all[i] == EXPR_NEVER) return EXPR_NEVER;
    }
    return schema_ok(c) ? expr_and(c->e, all, n) : (expr_id)EXPR_NEVER;
}

expr_id schema_strings(struct context *c, lit_id x) { return remembered(c, x, TYPE_STRING); }
expr_id schema_all_strings(struct context *c, const lit_id *lits, uint32_t n) {
    return of_set(c, lits, n, TYPE_STRING);
}
expr_id schema_all_numbers(struct context *c, const lit_id *lits, uint32_t n) {
    return of_set(c, lits, n, TYPE_NUMBER);
}

bool schema_never(struct context *c, const lit_id *lits, uint32_t n) {
    enum { MAX_SEARCH = 200 };
    unsigned may = TYPE_ALL;
    for (uint32_t i = 0; i < n && schema_ok(c); i++) {
        const struct meaning *const k = schema_meaning(c, lits[i]);
        if (k) may &= k->may;
    }
    if (may & ~(unsigned)(TYPE_STRING | TYPE_NUMBER) || !schema_ok(c)) return false;
    if (may & TYPE_STRING && !expr_surely_never(c->e, of_set(c, lits, n, TYPE_STRING), MAX_SEARCH)) return false;
    return !(may & TYPE_NUMBER) || expr_surely_never(c->e, of_set(c, lits, n, TYPE_NUMBER), MAX_SEARCH);
}
