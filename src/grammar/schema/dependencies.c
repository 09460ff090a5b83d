// grammar/schema/dependencies.c - dependencies between the declared members of an object, as its graph keeps them.
//
// The members come in an order. What is known at a place is a set of bits: a member that has to come, since one before wants it, and a
// member that was left out, which one behind would want. A bit is forgotten where nothing asks for it any more.
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_KNOWN = 10000 };

static uint32_t index_of(const struct json_node *const *names, uint32_t n, const struct json_node *name) {
    uint32_t i = 0;
    while (i < n && !schema_same_name(names[i], name)) i++;
    return i;
}

static bool add_bit(struct context *c, struct schema_pending *p, uint64_t *bit, const struct json_node *at) {
    if (*bit) return true;
    if (p->n_bits == 64)
        return schema_stop(c, RN_E_LIMIT, at, "dependencies tie more than 64 members of an object to each other");
    *bit = 1ull << p->n_bits++;
    return true;
}

static bool add_dependency(struct context *c, struct schema_pending *p, const struct json_node *const *names,
                           const struct dependency *d) {
    const uint32_t i = index_of(names, p->n_members, d->if_has);
    if (i == p->n_members) return true; // it does not occur
    for (const struct list *l = d->wants; l; l = l->next) {
        const uint32_t k = index_of(names, p->n_members, l->node);
        if (k == i) continue;
        if (k == p->n_members) {
            p->of[i].is_impossible = true;
        } else if (k > i) {
            if (!add_bit(c, p, &p->of[k].wanted, d->if_has)) return false;
            p->of[i].wants |= p->of[k].wanted;
        } else {
            if (!add_bit(c, p, &p->of[k].left_out, d->if_has)) return false;
            p->of[i].not_beside |= p->of[k].left_out;
            if (p->of[k].asked_until < i) p->of[k].asked_until = i;
        }
    }
    return true;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

bool schema_after(const struct schema_pending *p, uint32_t i, uint64_t known, bool is_there, uint64_t *after) {
    const struct schema_tie *const t = &p->of[i];
    if (is_there ? t->is_impossible || known & t->not_beside : t->is_required || known & t->wanted) return false;
    *after = (is_there ? known | t->wants : known | t->left_out) & p->of[i].kept;
    return true;
}

uint32_t schema_known_index(const struct schema_pending *p, uint32_t i, uint64_t known) {
    const uint64_t *const at = bsearch(&known, p->known[i], p->n_known[i], sizeof known, by_value);
    return at ? (uint32_t)(at - p->known[i]) : 0;
}

// All sets before each member, and behind the last one.
static bool find_known(struct context *c, struct schema_pending *p) {
    uint64_t *const nothing = schema_alloc(c, sizeof *nothing);
    if (!nothing) return false;
    *nothing = 0;
    p->known[0] = nothing, p->n_known[0] = 1, p->first[0] = 0;
    for (uint32_t i = 0; i < p->n_members; i++) {
        if (p->n_bits == 0 && !p->of[i].is_impossible) {
            p->known[i + 1] = nothing, p->n_known[i + 1] = 1, p->first[i + 1] = i + 1;
            continue;
        }
        uint64_t *const next = schema_alloc(c, (2 * p->n_known[i] + 1) * sizeof *next);
        uint32_t n = 0, n_next = 0;
        if (!next) return false;
        for (uint32_t k = 0; k < 2 * p->n_known[i]; k++) n += schema_after(p, i, p->known[i][k / 2], k % 2, &next[n]);
        qsort(next, n, sizeof *next, by_value);
        for (uint32_t k = 0; k < n; k++)
            if (k == 0 || next[k] != next[k - 1]) next[n_next++] = next[k];
        p->known[i + 1] = next, p->n_known[i + 1] = n_next;
        p->first[i + 1] = p->first[i] + p->n_known[i];
        if (p->first[i + 1] + n_next > MAX_KNOWN)
            return schema_stop(c, RN_E_LIMIT, NULL, "dependencies between members that need more than %d states",
                               MAX_KNOWN);
    }
    return true;
}

bool schema_find_pending(struct context *c, const struct form *f, const struct json_node *const *names,
                         const bool *is_required, uint32_t n, struct schema_pending *p) {
    *p = (struct schema_pending){.n_members = n};
    p->of = schema_alloc(c, (n + 1) * sizeof *p->of);
    p->known = schema_alloc(c, (n + 1) * sizeof *p->known);
    p->n_known = schema_alloc(c, (n + 1) * sizeof *p->n_known);
    p->first = schema_alloc(c, (n + 1) * sizeof *p->first);
    if (!p->of || !p->known || !p->n_known || !p->first) return false;
    for (uint32_t i = 0; i < n; i++) p->of[i] = (struct schema_tie){.is_required = is_required[i]};
    for (const struct dependency *d = f->dependencies; d; d = d->next)
        if (!add_dependency(c, p, names, d)) return false;
    for (uint32_t i = 0; i < n && f->dependencies; i++) { // what is asked for behind a member
        for (uint32_t k = i + 1; k < n; k++) p->of[i].kept |= p->of[k].wanted;
        for (uint32_t k = 0; k <= i; k++)
            if (p->of[k].asked_until > i) p->of[i].kept |= p->of[k].left_out;
    }
    return find_known(c, p);
}
