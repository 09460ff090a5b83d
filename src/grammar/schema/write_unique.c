// grammar/schema/write_unique.c - the graph of an array whose items differ: those that may be listed, and are few.
//
// A place of the graph is the set of the values that were read. Their number is the index of the next item.
#include "grammar/schema/meaning.h"
#include "grammar/schema/numerals.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
    lit_id of[SCHEMA_MAX_UNIQUE + 1];
    uint32_t n;
    bool has_more; // than there is room for
};

static bool same_value(struct context *c, lit_id a, lit_id b) {
    const struct meaning *const x = schema_meaning(c, a), *const y = schema_meaning(c, b);
    // The opposite of a number is that of all its spellings, and so tells that 1 and 1.0 are one.
    const lit_id not_a = schema_not(a), not_b = schema_not(b);
    return x && y && x->may == y->may && schema_strings(c, a) == schema_strings(c, b) &&
           schema_all_numbers(c, &not_a, 1) == schema_all_numbers(c, &not_b, 1);
}

static void add_value(struct context *c, struct values *v, lit_id x) {
    for (uint32_t i = 0; i < v->n && schema_ok(c); i++)
        if (same_value(c, v->of[i], x)) return;
    v->has_more |= v->n == SCHEMA_MAX_UNIQUE;
    if (!v->has_more) v->of[v->n++] = x;
}

// The whole part of a bound; false: there is none, or it has too many digits.
static bool read_bound(const struct json_node *schema, const char *name, const char *exclusive, long *out) {
    const struct json_node *bound = json_member(schema, exclusive);
    struct decimal d;
    if (!bound || bound->kind != JSON_NUMBER) bound = json_member(schema, name); // draft 4: true or false
    if (!bound || bound->kind != JSON_NUMBER || !decimal_read(&d, bound->text, bound->n_text)) return false;
    if (strlen(d.whole) > 9) return false;
    *out = strtol(d.whole, NULL, 10) * (d.is_negative ? -1 : 1);
    return true;
}

// Adds the integers of a schema with a least and a greatest one. false: it has none.
static bool list_range(struct context *c, const struct json_node *schema, struct values *v) {
    long least, most;
    if (!json_is(json_member(schema, "type"), "integer") || (c->ref_is_alone && json_member(schema, "$ref")))
        return false;
    if (!read_bound(schema, "minimum", "exclusiveMinimum", &least) ||
        !read_bound(schema, "maximum", "exclusiveMaximum", &most))
        return false;
    for (long i = least; i <= most && !v->has_more && schema_ok(c); i++) {
        struct json_node *const number = schema_alloc(c, sizeof *number);
        char *const text = schema_alloc(c, 16);
        if (!number || !text) return false;
        const int n = snprintf(text, 16, "%ld", i);
        *number = (struct json_node){.kind = JSON_NUMBER, .text = text, .n_text = (uint32_t)n, .n_nodes = 1};
        add_value(c, v, node_lit(c, LIT_CONST, number));
    }
    return true;
}

static bool list_values(struct context *c, const struct list *lits, struct values *v);

// Adds all values that satisfy a literal, and perhaps some that do not. false: they are not listed, or not all scalars.
static bool list_literal(struct context *c, lit_id id, struct values *v) {
    const struct meaning *const k = schema_meaning(c, id);
    const struct lit x = c->lits[id];
    if (!k) return false;
    if (!(k->may & ~(unsigned)(TYPE_NULL | TYPE_FALSE | TYPE_TRUE))) {
        for (unsigned type = TYPE_NULL; type <= TYPE_TRUE; type *= 2)
            if (k->may & type) add_value(c, v, types_lit(c, type));
        return true;
    }
    if (!x.negated && (x.kind == LIT_SCALARS || (x.kind == LIT_KEYWORD && x.group == G_ENUM))) {
        const struct json_node *const list = x.kind == LIT_SCALARS ? x.node : json_member(x.node, "enum");
        EACH (item, i, list) {
            if (item->kind == JSON_ARRAY || item->kind == JSON_OBJECT) return false;
            add_value(c, v, node_lit(c, LIT_CONST, item));
        }
        return true;
    }
    if (!x.negated && x.kind == LIT_SCHEMA && list_range(c, x.node, v)) return true;
    const bool is_one = !x.negated && (x.kind == LIT_CONST || (x.kind == LIT_KEYWORD && x.group == G_CONST));
    if (is_one && !(k->may & (TYPE_ARRAY | TYPE_OBJECT))) return add_value(c, v, id), true;
    if (list_values(c, k->rest.todo, v)) return true;
    for (const struct choice *choice = k->rest.choices; choice && schema_ok(c); choice = choice->next) {
        uint32_t n = 0;
        while (n < choice->n && list_values(c, choice->ways[n], v)) n++;
        if (n == choice->n) return true;
    }
    return false;
}

// The same of several literals: one that lists its values is enough.
static bool list_values(struct context *c, const struct list *lits, struct values *v) {
    for (; lits && schema_ok(c); lits = lits->next) {
        struct values with = *v;
        if (!list_literal(c, lits->lit, &with)) continue;
        *v = with;
        return true;
    }
    return false;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct level {         // the sets of as many values as items were read
    uint64_t *sets;    // sorted
    uint32_t n, first; // first: the place of the first one
};

static uint32_t place_of(const struct level *l, uint64_t set) {
    const uint64_t *const at = bsearch(&set, l->sets, l->n, sizeof set, by_value);
    return l->first + (uint32_t)(at - l->sets);
}

// The sets with one value more, of those that may come next.
static bool next_level(struct context *c, const struct form *f, const struct level *l, uint64_t values,
                       struct level *next) {
    const uint32_t most = (uint32_t)__builtin_popcountll(values);
    *next = (struct level){.sets = schema_alloc(c, ((size_t)l->n * most + 1) * sizeof *next->sets),
                           .first = l->first + l->n};
    if (!next->sets) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        for (uint64_t left = values & ~l->sets[i]; left; left &= left - 1)
            next->sets[n++] = l->sets[i] | (left & ~(left - 1));
    qsort(next->sets, n, sizeof *next->sets, by_value);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || next->sets[i] != next->sets[i - 1]) next->sets[next->n++] = next->sets[i];
    return next->first + next->n <= SCHEMA_MAX_PLACES ||
           schema_stop(c, RN_E_LIMIT, f->unique->node,
                       "items of so many values that more than %d sets of them may be read: a smaller `maxItems`",
                       SCHEMA_MAX_PLACES);
}

static bool find_values(struct context *c, const struct form *f, uint32_t n_first, uint64_t max, struct values *v) {
    lit_id lits[SCHEMA_MAX_PART_LITS];
    for (uint32_t i = 0; i <= n_first && i < max && schema_ok(c); i++) {
        const uint32_t n = schema_item_lits(c, f, i < n_first ? i : UINT32_MAX, lits);
        bool is_listed = false;
        for (uint32_t k = 0; k < n && !is_listed; k++) is_listed = list_values(c, &(struct list){.lit = lits[k]}, v);
        if (!is_listed && schema_ok(c))
            schema_stop(c, RN_E_UNSUPPORTED, f->unique->node,
                        "is only supported where `enum` or the like lists the items, or bounds integers");
    }
    if (v->has_more)
        schema_stop(c, RN_E_LIMIT, f->unique->node, "more than %d values that items may have", SCHEMA_MAX_UNIQUE);
    return schema_ok(c);
}

void schema_write_unique(struct context *c, const struct form *f, uint32_t rule, uint32_t n_first, uint64_t max) {
    struct values v = {.n = 0};
    uint64_t *const empty = schema_alloc(c, sizeof *empty);
    if (!empty || !find_values(c, f, n_first, max, &v)) return;
    *empty = 0;
    struct level level = {.sets = empty, .n = 1, .first = 2}, next;
    rule_link(c->r, rule, 0, 2, c->now->marks.open_array);
    for (uint32_t index = 0; level.n > 0 && schema_ok(c); index++, level = next) {
        sym_id items[SCHEMA_MAX_UNIQUE];
        uint64_t values = 0;
        for (uint32_t k = 0; k < v.n && index < max && schema_ok(c); k++) {
            lit_id lits[SCHEMA_MAX_PART_LITS];
            uint32_t n = schema_item_lits(c, f, index < n_first ? index : UINT32_MAX, lits);
            lits[n++] = v.of[k];
            const sym_id value = schema_value(c, lits, n);
            items[k] = sym_seq(c->r, (sym_id[]){index ? c->now->marks.comma : (sym_id)SYM_EMPTY, value}, 2);
            if (value != SYM_NEVER) values |= 1ull << k;
        }
        if (!schema_ok(c) || !next_level(c, f, &level, values, &next)) return;
        for (uint32_t i = 0; i < level.n && schema_ok(c); i++) {
            if (index >= f->min_items && index <= max)
                rule_link(c->r, rule, level.first + i, 1, c->now->marks.close_array);
            for (uint64_t left = values & ~level.sets[i]; left; left &= left - 1)
                rule_link(c->r, rule, level.first + i, place_of(&next, level.sets[i] | (left & ~(left - 1))),
                          items[__builtin_ctzll(left)]);
        }
    }
}
