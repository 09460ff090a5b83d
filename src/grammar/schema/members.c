// grammar/schema/members.c - which schemas the members of an object and the items of an array have, by all layers.
//
// A layer is a schema with keywords of members or items, an object as a value, or what unevaluated* says of the rest.
#include "grammar/schema/context.h"
#include <string.h>

// ---- looking into schemas ----

const char *schema_name(const struct json_node *n, size_t *n_name) {
    *n_name = n->name ? n->n_name : n->n_text;
    return n->name ? n->name : n->text;
}

bool schema_same_name(const struct json_node *a, const struct json_node *b) {
    size_t n, m;
    const char *const x = schema_name(a, &n), *const y = schema_name(b, &m);
    return n == m && memcmp(x, y, n) == 0;
}

const struct json_node *schema_find(const struct json_node *members, const struct json_node *name) {
    const struct json_node *v = members ? json_first(members) : NULL;
    for (uint32_t i = 0; members && i < members->n_items; i++, v = json_next(v))
        if (schema_same_name(v, name)) return v;
    return NULL;
}

const struct json_node *schema_part(const struct json_node *schema, const char *name) {
    const struct json_node *const v = json_member(schema, name);
    return v && v->kind == JSON_OBJECT ? v : NULL;
}

const struct json_node *schema_first_items(const struct json_node *schema) {
    const struct json_node *const prefix = json_member(schema, "prefixItems"), *const items =
                                                                                   json_member(schema, "items");
    return prefix ? prefix : items && items->kind == JSON_ARRAY ? items : NULL;
}

const struct json_node *schema_other_items(const struct json_node *schema) {
    const struct json_node *const items = json_member(schema, "items");
    return items && items->kind == JSON_ARRAY ? json_member(schema, "additionalItems") : items;
}

// ---- members ----

static bool add_lit(struct context *c, lit_id *lits, uint32_t *n, lit_id x) {
    if (*n == SCHEMA_MAX_PART_LITS - 1)
        return schema_stop(c, RN_E_LIMIT, c->lits[x].node, "a member or item has more than %d schemas",
                           SCHEMA_MAX_PART_LITS - 1);
    lits[(*n)++] = x;
    return true;
}

expr_id schema_pattern(struct context *c, const struct json_node *pattern) {
    return schema_strings(c, schema_lit(c, (struct lit){.kind = LIT_PATTERN, .node = pattern}));
}

bool schema_declares(const struct form *f, const struct json_node *name) {
    for (const struct list *l = f->objects; l; l = l->next)
        if (l->number == LAYER_SCHEMA && schema_find(schema_part(l->node, "properties"), name)) return true;
    return false;
}

// A layer that evaluates: not one under a negation, and no value.
static bool evaluates(const struct list *layer) {
    return layer->most == 0 && (layer->number == LAYER_SCHEMA || layer->number == LAYER_REST);
}

// Does a schema name this member, by itself or by a pattern? Adds the literals of its value, unless lits is NULL.
static bool names_member(struct context *c, const struct json_node *schema, const struct json_node *name,
                         lit_id *lits, uint32_t *n) {
    const struct json_node *const own = schema_find(schema_part(schema, "properties"), name),
                                  *const patterns = schema_part(schema, "patternProperties");
    bool is_named = own != NULL;
    if (own && lits) add_lit(c, lits, n, schema_of(c, own));
    if (!patterns) return is_named;
    EACH (v, i, patterns) {
        if (!schema_ok(c) || !schema_matches(c, schema_pattern(c, v), name)) continue;
        is_named = true;
        if (lits) add_lit(c, lits, n, schema_of(c, v));
    }
    return is_named;
}

// Is a member, or with NULL one that is nobody's own and matches no pattern but those in `cell`, evaluated by a rest's layers?
static bool is_evaluated(struct context *c, const struct list *rest, const struct json_node *name,
                         const struct json_node *const *patterns, uint32_t n_patterns, uint32_t cell) {
    const struct list *l = rest->from == UINT32_MAX ? NULL : c->rests[rest->from].layers;
    for (; l && schema_ok(c); l = l->next) {
        if (!evaluates(l)) continue;
        if (l->number == LAYER_REST || json_member(l->node, "additionalProperties")) return true;
        if (name && names_member(c, l->node, name, NULL, NULL)) return true;
        for (uint32_t k = 0; k < n_patterns && !name; k++)
            if (cell >> k & 1 && schema_find(schema_part(l->node, "patternProperties"), patterns[k])) return true;
    }
    return false;
}

bool schema_member_lits(struct context *c, const struct form *f, const struct json_node *name, lit_id *lits,
                        uint32_t *n) {
    const uint32_t outer = c->scope;
    *n = 0;
    for (const struct list *l = f->objects; l && schema_ok(c); l = l->next) {
        const struct json_node *more = NULL;
        c->scope = l->scope;
        if (l->number == LAYER_CONST) {
            const struct json_node *const own = schema_find(l->node, name);
            if (!own) return c->scope = outer, false;
            add_lit(c, lits, n, schema_lit(c, (struct lit){.kind = LIT_CONST, .node = own}));
        } else if (l->number == LAYER_REST) {
            if (!is_evaluated(c, l, name, NULL, 0, 0)) more = l->node;
        } else if (l->number == LAYER_SCHEMA && !names_member(c, l->node, name, lits, n)) {
            more = json_member(l->node, "additionalProperties");
        }
        if (more) add_lit(c, lits, n, schema_of(c, more));
    }
    c->scope = outer;
    for (const struct list *m = f->members; m && schema_ok(c); m = m->next)
        if (schema_same_name(m->node, name)) add_lit(c, lits, n, m->lit);
    return schema_ok(c);
}

bool schema_cell_lits(struct context *c, const struct form *f, const struct json_node *const *patterns,
                      uint32_t n_patterns, uint32_t cell, lit_id *lits, uint32_t *n) {
    const uint32_t outer = c->scope;
    bool may_be = true;
    *n = 0;
    for (const struct list *l = f->objects; l && may_be && schema_ok(c); l = l->next) {
        const struct json_node *more = NULL;
        bool is_named = false;
        c->scope = l->scope;
        if (l->number == LAYER_CONST) may_be = false;
        if (l->number == LAYER_CHOICE || l->number == LAYER_CONST) continue;
        if (l->number == LAYER_REST) {
            if (!is_evaluated(c, l, NULL, patterns, n_patterns, cell)) more = l->node;
        } else {
            for (uint32_t k = 0; k < n_patterns; k++) {
                const struct json_node *const own =
                    cell >> k & 1 ? schema_find(schema_part(l->node, "patternProperties"), patterns[k]) : NULL;
                if (own) add_lit(c, lits, n, schema_of(c, own)), is_named = true;
            }
            if (!is_named) more = json_member(l->node, "additionalProperties");
        }
        if (more && more->kind == JSON_FALSE)
            may_be = false;
        else if (more)
            add_lit(c, lits, n, schema_of(c, more));
    }
    c->scope = outer;
    return may_be && schema_ok(c);
}

expr_id schema_names(struct context *c, enum names_of which, const struct json_node *node) {
    if (which == NAMES_MATCHING) return schema_pattern(c, node);
    if (which == NAMES_UNWANTED) return expr_not(c->e, schema_strings(c, schema_of(c, node)));
    const struct json_node *const own = which == NAMES_NOT_KEYS ? node : schema_part(node, "properties"),
                                  *const patterns =
                                      which == NAMES_NOT_KEYS ? NULL : schema_part(node, "patternProperties");
    expr_id *const all =
        schema_alloc(c, ((own ? own->n_items : 0) + (patterns ? patterns->n_items : 0) + 1) * sizeof *all);
    uint32_t n = 0;
    if (!all) return EXPR_NEVER;
    if (own)
        EACH (v, i, own) all[n++] = schema_name_expr(c, v);
    if (patterns)
        EACH (v, i, patterns) all[n++] = schema_pattern(c, v);
    return expr_not(c->e, expr_or(c->e, all, n));
}

// ---- items ----

// Of an item that nothing describes: the schema of the rest, or one of `contains`, which evaluate what they find.
static lit_id rest_of_items(struct context *c, const struct list *layer) {
    lit_id x = schema_of(c, layer->node);
    const struct list *l = layer->from == UINT32_MAX ? NULL : c->rests[layer->from].contained;
    for (; l && schema_ok(c); l = l->next)
        if (l->most == 0) x = schema_lit(c, (struct lit){.kind = LIT_EITHER, .sub = l->lit, .number = x});
    return x;
}

uint32_t schema_item_lits(struct context *c, const struct form *f, uint32_t index, lit_id *lits) {
    const uint32_t outer = c->scope;
    uint32_t n = 0;
    for (const struct list *l = f->arrays; l && schema_ok(c); l = l->next) {
        const struct json_node *s = NULL;
        c->scope = l->scope;
        if (l->number == LAYER_REST) {
            const struct list *of = l->from == UINT32_MAX ? NULL : c->rests[l->from].layers;
            bool is_described = false;
            for (; of && !is_described; of = of->next) {
                const struct json_node *const first = of->number == LAYER_REST ? NULL : schema_first_items(of->node);
                is_described = evaluates(of) && (of->number == LAYER_REST || schema_other_items(of->node) ||
                                                 (first && index < first->n_items));
            }
            if (!is_described) add_lit(c, lits, &n, rest_of_items(c, l));
        } else {
            const struct json_node *const first = schema_first_items(l->node);
            s = schema_other_items(l->node);
            if (first && index < first->n_items) {
                s = json_first(first);
                for (uint32_t i = 0; i < index; i++) s = json_next(s);
            }
        }
        if (s) add_lit(c, lits, &n, schema_of(c, s));
    }
    c->scope = outer;
    for (const struct list *l = f->items; l && schema_ok(c); l = l->next)
        if (l->number == index) add_lit(c, lits, &n, l->lit);
    for (const struct list *l = f->all_items; l && schema_ok(c); l = l->next) add_lit(c, lits, &n, l->lit);
    return n;
}
