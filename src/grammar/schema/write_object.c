// grammar/schema/write_object.c - the graph of an object: its members in the order of the schema, then the others.
//
// A place of the graph is: how many declared members were passed, how many members there are (as far as it matters), and which of the members
// that must occur somewhere (flags) did.
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

enum { MAX_LAYERS = 32, MAX_LITS = 128 };

struct declared {
    const struct json_node *name;
    bool is_required;
};

struct flag { // a member that must occur among the others: by name, or any that a layer does not name, with a value
    const struct json_node *name, *layer;
    lit_id lit;
    bool is_const;
};

struct object {
    struct context *c;
    const struct form *f;
    uint32_t rule;
    const struct list *layers[MAX_LAYERS]; // outermost first
    uint32_t n_layers;
    struct declared *declared;
    uint32_t n_declared, max_declared;
    struct flag flags[SCHEMA_MAX_FLAGS];
    uint32_t n_flags;
    expr_id names;     // of members, without quotes; EXPR_ANY: no condition
    uint32_t n_counts; // counts that are told apart: 0..n_counts - 1, the last one with all above
};

static const struct json_node *part(const struct json_node *layer, const char *name) {
    const struct json_node *const v = json_member(layer, name);
    return v && v->kind == JSON_OBJECT ? v : NULL;
}

static const struct json_node *find(const struct json_node *members, const struct json_node *name) {
    const struct json_node *v = members ? json_first(members) : NULL;
    for (uint32_t i = 0; members && i < members->n_items; i++, v = json_next(v))
        if (schema_same_name(v, name)) return v;
    return NULL;
}

static bool matches_pattern(struct context *c, const struct json_node *pattern, const struct json_node *name) {
    expr_id x;
    size_t n;
    const char *const s = schema_name(name, &n);
    return schema_pattern(c, pattern, &x) == RN_OK && schema_matches(c, x, s, n);
}

// Does a layer name this member, by itself or by a pattern? Adds the literals of its value to lits[*n] (NULL: only looks).
static bool layer_member(struct context *c, const struct json_node *layer, const struct json_node *name, lit_id *lits,
                         uint32_t *n, uint32_t max) {
    const struct json_node *const own = find(part(layer, "properties"), name), *const patterns =
                                                                                   part(layer, "patternProperties");
    const struct json_node *v = patterns ? json_first(patterns) : NULL;
    bool is_named = own != NULL;
    if (own && lits && *n < max) lits[(*n)++] = schema_of(c, own);
    for (uint32_t i = 0; patterns && i < patterns->n_items && schema_ok(c); i++, v = json_next(v)) {
        if (!matches_pattern(c, v, name)) continue;
        is_named = true;
        if (lits && *n < max) lits[(*n)++] = schema_of(c, v);
    }
    return is_named;
}

// The literals of a member's value, by all layers. false: it may not occur.
static bool value_lits(struct object *o, const struct json_node *name, lit_id *lits, uint32_t *n) {
    struct context *const c = o->c;
    *n = 0;
    for (uint32_t i = 0; i < o->n_layers && schema_ok(c); i++) {
        const struct json_node *const layer = o->layers[i]->node;
        if (o->layers[i]->number) { // an object as a value
            const struct json_node *const own = find(layer, name);
            if (!own) return false;
            lits[(*n)++] = schema_lit(c, (struct lit){.kind = LIT_CONST, .node = own});
        } else if (!layer_member(c, layer, name, lits, n, MAX_LITS - 1)) {
            const struct json_node *const other = json_member(layer, "additionalProperties");
            if (other) lits[(*n)++] = schema_of(c, other);
        }
        if (*n >= MAX_LITS - 2)
            return schema_stop(c, RN_E_LIMIT, layer, "a member has more than %d schemas", MAX_LITS);
    }
    for (const struct list *m = o->f->members; m; m = m->next)
        if (schema_same_name(m->node, name) && *n < MAX_LITS) lits[(*n)++] = m->lit;
    size_t n_name;
    const char *const s = schema_name(name, &n_name);
    return o->names == EXPR_ANY || schema_matches(c, o->names, s, n_name);
}

static bool in_list(const struct list *l, const struct json_node *name) {
    for (; l; l = l->next)
        if (schema_same_name(l->node, name)) return true;
    return false;
}

static void declare(struct object *o, const struct json_node *name) {
    for (uint32_t i = 0; i < o->n_declared; i++)
        if (schema_same_name(o->declared[i].name, name)) return;
    if (in_list(o->f->lacks, name)) return;
    if (o->n_declared == o->max_declared) {
        const uint32_t max = o->max_declared ? o->max_declared * 2 : 16;
        struct declared *const q = mem_realloc(o->declared, max * sizeof *q);
        if (!q) return (void)schema_stop(o->c, RN_E_NOMEM, NULL, "out of memory");
        o->declared = q, o->max_declared = max;
    }
    o->declared[o->n_declared++] = (struct declared){name, in_list(o->f->required, name)};
}

// The names that all conditions on names allow.
static bool find_names(struct object *o) {
    struct context *const c = o->c;
    lit_id lits[MAX_LAYERS];
    uint32_t n = 0;
    o->names = EXPR_ANY;
    for (const struct list *l = o->f->names; l && n < MAX_LAYERS; l = l->next) lits[n++] = l->lit;
    if (n == 0) return true;
    struct forms forms;
    expr_id x = EXPR_NEVER;
    if (schema_expand(c, lits, n, &forms))
        for (uint32_t i = 0; i < forms.n; i++)
            if (forms.of[i].types & TYPE_STRING) x = expr_or2(c->e, x, forms.of[i].string);
    mem_free(forms.of);
    o->names = x == EXPR_ANY ? x : expr_and2(c->e, c->any_text, x);
    return schema_ok(c);
}

static bool collect(struct object *o) {
    struct context *const c = o->c;
    for (const struct list *l = o->f->objects; l; l = l->next) {
        if (o->n_layers == MAX_LAYERS)
            return schema_stop(c, RN_E_LIMIT, l->node, "more than %d schemas describe one object", MAX_LAYERS);
        o->layers[o->n_layers++] = l;
    }
    for (uint32_t i = 0; i < o->n_layers / 2; i++) { // they were put in front of each other
        const struct list *const l = o->layers[i];
        o->layers[i] = o->layers[o->n_layers - 1 - i];
        o->layers[o->n_layers - 1 - i] = l;
    }
    for (uint32_t i = 0; i < o->n_layers; i++) {
        const struct json_node *const members =
            o->layers[i]->number ? o->layers[i]->node : part(o->layers[i]->node, "properties");
        const struct json_node *v = members ? json_first(members) : NULL;
        for (uint32_t k = 0; members && k < members->n_items; k++, v = json_next(v)) declare(o, v);
    }
    for (const struct list *m = o->f->members; m; m = m->next) declare(o, m->node);
    // What is required but not described comes in any order, where there are few.
    uint32_t n_more = 0;
    const struct json_node *more[256];
    for (const struct list *l = o->f->required; l; l = l->next) {
        bool is_known = false;
        for (uint32_t i = 0; i < o->n_declared && !is_known; i++)
            is_known = schema_same_name(o->declared[i].name, l->node);
        for (uint32_t i = 0; i < n_more && !is_known; i++) is_known = schema_same_name(more[i], l->node);
        if (is_known) continue;
        if (n_more == 256)
            return schema_stop(c, RN_E_LIMIT, l->node, "more than 256 required members that are not in `properties`");
        more[n_more++] = l->node;
    }
    uint32_t n_some = 0;
    for (const struct list *l = o->f->some; l; l = l->next) n_some++;
    if (n_some > SCHEMA_MAX_FLAGS)
        return schema_stop(c, RN_E_LIMIT, NULL, "more than %d conditions that some member has to meet",
                           SCHEMA_MAX_FLAGS);
    const bool any_order = n_more + n_some <= SCHEMA_MAX_FLAGS;
    for (uint32_t i = n_more; i-- > 0;) {
        if (any_order)
            o->flags[o->n_flags++] = (struct flag){.name = more[i]};
        else
            declare(o, more[i]);
    }
    for (const struct list *l = o->f->some; l; l = l->next)
        o->flags[o->n_flags++] = (struct flag){.layer = l->node, .is_const = l->number, .lit = l->lit};
    return find_names(o);
}

// ---- places ----

static uint32_t place(const struct object *o, uint32_t passed, uint32_t count, uint32_t flags) {
    if (passed == 0 && count == 0 && flags == 0) return 0;
    return 2 + ((passed * o->n_counts + count) << o->n_flags) + flags;
}

static uint32_t one_more(const struct object *o, uint32_t count) {
    return count + 1 < o->n_counts ? count + 1 : count;
}

static void link_member(struct object *o, uint32_t from_passed, uint32_t to_passed, uint32_t count, uint32_t flags,
                        uint32_t set, sym_id key, sym_id value) {
    struct rules *const r = o->c->r;
    if (o->f->max_members != UINT64_MAX && count >= o->f->max_members) return;
    const sym_id start = from_passed == 0 && count == 0 && flags == 0 ? o->c->open_object : (sym_id)SYM_EMPTY;
    const sym_id before = count > 0 ? o->c->comma : (sym_id)SYM_EMPTY;
    rule_link(r, o->rule, place(o, from_passed, count, flags), place(o, to_passed, one_more(o, count), flags | set),
              sym_seq(r, (sym_id[]){start, before, key, o->c->colon, value}, 5));
}

static void link_declared(struct object *o, uint32_t i) {
    struct context *const c = o->c;
    lit_id lits[MAX_LITS + 1];
    uint32_t n;
    const struct json_node *const name = o->declared[i].name;
    const bool is_possible = value_lits(o, name, lits, &n);
    const sym_id key = sym_term(c->r, schema_quoted(c, schema_name_expr(c, name)));
    const uint32_t n_lits = n;
    lit_id own[MAX_LITS + 1];
    memcpy(own, lits, n * sizeof *own);
    const sym_id value = is_possible ? schema_value(c, lits, n) : (sym_id)SYM_NEVER;
    sym_id flagged[SCHEMA_MAX_FLAGS];
    for (uint32_t k = 0; k < o->n_flags; k++) { // it may be the member that a flag is about
        flagged[k] = SYM_NEVER;
        const struct flag *const flag = &o->flags[k];
        if (!is_possible || flag->name) continue;
        const bool is_named =
            flag->is_const ? find(flag->layer, name) != NULL : layer_member(c, flag->layer, name, NULL, NULL, 0);
        if (is_named) continue;
        memcpy(lits, own, n_lits * sizeof *own);
        lits[n_lits] = flag->lit;
        flagged[k] = schema_value(c, lits, n_lits + 1);
    }
    for (uint32_t count = 0; count < o->n_counts && schema_ok(c); count++)
        for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++) {
            if (i == 0 && (count || flags)) continue;
            if (!o->declared[i].is_required) {
                const sym_id open = i == 0 ? c->open_object : (sym_id)SYM_EMPTY;
                const uint32_t to = i == 0 ? place(o, 1, 0, 0) : place(o, i + 1, count, flags);
                rule_link(c->r, o->rule, place(o, i, count, flags), to, open);
            }
            link_member(o, i, i + 1, count, flags, 0, key, value);
            for (uint32_t k = 0; k < o->n_flags; k++)
                if (flagged[k] != SYM_NEVER && !(flags >> k & 1))
                    link_member(o, i, i + 1, count, flags, 1u << k, key, flagged[k]);
        }
}

// ---- the others ----

struct cells {
    const struct json_node *patterns[SCHEMA_MAX_PATTERNS]; // all layers'
    expr_id exprs[SCHEMA_MAX_PATTERNS];
    uint32_t n;
};

static bool find_patterns(struct object *o, struct cells *cells) {
    for (uint32_t i = 0; i < o->n_layers; i++) {
        const struct json_node *const patterns =
            o->layers[i]->number ? NULL : part(o->layers[i]->node, "patternProperties");
        const struct json_node *v = patterns ? json_first(patterns) : NULL;
        for (uint32_t k = 0; patterns && k < patterns->n_items; k++, v = json_next(v)) {
            uint32_t at = 0;
            while (at < cells->n && !schema_same_name(cells->patterns[at], v)) at++;
            if (at < cells->n) continue;
            if (at == SCHEMA_MAX_PATTERNS)
                return schema_stop(o->c, RN_E_LIMIT, v, "more than %d patterns describe the members of one object",
                                   SCHEMA_MAX_PATTERNS);
            cells->patterns[at] = v;
            if (schema_pattern(o->c, v, &cells->exprs[at]) != RN_OK) return false;
            cells->n++;
        }
    }
    return true;
}

// The literals of a value whose name matches just the patterns in `cell`. false: there may be none.
static bool cell_lits(struct object *o, const struct cells *cells, uint32_t cell, lit_id *lits, uint32_t *n) {
    struct context *const c = o->c;
    *n = 0;
    for (uint32_t i = 0; i < o->n_layers; i++) {
        const struct json_node *const layer = o->layers[i]->node, *const other =
                                                                      json_member(layer, "additionalProperties");
        if (o->layers[i]->number) return false;
        bool is_named = false;
        for (uint32_t k = 0; k < cells->n; k++) {
            const struct json_node *const own =
                cell >> k & 1 ? find(part(layer, "patternProperties"), cells->patterns[k]) : NULL;
            if (!own) continue;
            is_named = true;
            if (*n < MAX_LITS) lits[(*n)++] = schema_of(c, own);
        }
        if (is_named || !other) continue;
        if (other->kind == JSON_FALSE) return false;
        if (*n < MAX_LITS) lits[(*n)++] = schema_of(c, other);
    }
    return true;
}

// Names that a flag's layer does not name.
static expr_id flag_names(struct object *o, const struct flag *flag) {
    struct context *const c = o->c;
    const struct json_node *const lists[2] = {flag->is_const ? flag->layer : part(flag->layer, "properties"),
                                              flag->is_const ? NULL : part(flag->layer, "patternProperties")};
    expr_id x = EXPR_NEVER;
    for (int k = 0; k < 2; k++) {
        const struct json_node *v = lists[k] ? json_first(lists[k]) : NULL;
        for (uint32_t i = 0; lists[k] && i < lists[k]->n_items; i++, v = json_next(v)) {
            expr_id one = EXPR_NEVER;
            if (k == 0)
                one = schema_name_expr(c, v);
            else
                schema_pattern(c, v, &one);
            x = expr_or2(c->e, x, one);
        }
    }
    return expr_not(c->e, x);
}

static void link_others(struct object *o) {
    struct context *const c = o->c;
    struct cells cells = {.n = 0};
    const uint32_t end = o->n_declared;
    if (!find_patterns(o, &cells)) return;
    // Names that are taken.
    expr_id *const taken = schema_alloc(c, (o->n_declared + 1) * sizeof *taken);
    if (!taken) return;
    for (uint32_t i = 0; i < o->n_declared; i++) taken[i] = schema_name_expr(c, o->declared[i].name);
    expr_id known = expr_or(c->e, taken, o->n_declared);
    for (const struct list *l = o->f->lacks; l; l = l->next)
        known = expr_or2(c->e, known, schema_name_expr(c, l->node));
    for (uint32_t k = 0; k < o->n_flags; k++)
        if (o->flags[k].name) known = expr_or2(c->e, known, schema_name_expr(c, o->flags[k].name));
    for (uint32_t cell = 0; cell < 1u << cells.n && schema_ok(c); cell++) {
        lit_id lits[MAX_LITS + 1], own[MAX_LITS + 1];
        uint32_t n;
        if (!cell_lits(o, &cells, cell, lits, &n)) continue;
        memcpy(own, lits, n * sizeof *own);
        expr_id all[SCHEMA_MAX_PATTERNS + 3], name = c->free_text;
        uint32_t m = 0;
        for (uint32_t k = 0; k < cells.n; k++)
            all[m++] = cell >> k & 1 ? cells.exprs[k] : expr_not(c->e, cells.exprs[k]);
        if (known != EXPR_NEVER) all[m++] = expr_not(c->e, known);
        if (o->names != EXPR_ANY) all[m++] = o->names;
        const uint32_t n_flagged = m;
        if (m > 0) all[m++] = c->any_text, name = expr_and(c->e, all, m);
        const sym_id key = sym_term(c->r, schema_quoted(c, name)), value = schema_value(c, lits, n);
        for (uint32_t count = 0; count < o->n_counts; count++)
            for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++)
                if (end > 0 || count > 0 || flags == 0) link_member(o, end, end, count, flags, 0, key, value);
        for (uint32_t k = 0; k < o->n_flags && schema_ok(c); k++) {
            if (o->flags[k].name) continue;
            m = n_flagged;
            all[m++] = c->any_text, all[m++] = flag_names(o, &o->flags[k]);
            const sym_id flag_key = sym_term(c->r, schema_quoted(c, expr_and(c->e, all, m)));
            memcpy(lits, own, n * sizeof *own);
            lits[n] = o->flags[k].lit;
            const sym_id flag_value = schema_value(c, lits, n + 1);
            for (uint32_t count = 0; count < o->n_counts; count++)
                for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++)
                    if (!(flags >> k & 1)) link_member(o, end, end, count, flags, 1u << k, flag_key, flag_value);
        }
    }
    for (uint32_t k = 0; k < o->n_flags && schema_ok(c); k++) {
        lit_id lits[MAX_LITS + 1];
        uint32_t n;
        if (!o->flags[k].name || in_list(o->f->lacks, o->flags[k].name) || !value_lits(o, o->flags[k].name, lits, &n))
            continue;
        const sym_id key = sym_term(c->r, schema_quoted(c, schema_name_expr(c, o->flags[k].name))),
                     value = schema_value(c, lits, n);
        for (uint32_t count = 0; count < o->n_counts; count++)
            for (uint32_t flags = 0; flags < 1u << o->n_flags; flags++)
                if (!(flags >> k & 1)) link_member(o, end, end, count, flags, 1u << k, key, value);
    }
}

static void link_end(struct object *o) {
    struct context *const c = o->c;
    const uint32_t end = o->n_declared, all = (1u << o->n_flags) - 1;
    for (uint32_t count = 0; count < o->n_counts; count++) {
        if (count < o->f->min_members) continue;
        const uint32_t from = place(o, end, count, all);
        const sym_id text =
            from == 0 ? sym_seq(c->r, (sym_id[]){c->open_object, c->close_object}, 2) : c->close_object;
        rule_link(c->r, o->rule, from, 1, text);
    }
}

void schema_write_object(struct context *c, const struct form *f, uint32_t rule) {
    struct object o = {.c = c, .f = f, .rule = rule};
    if (collect(&o)) {
        const uint64_t most = f->max_members == UINT64_MAX ? 0 : f->max_members + 1,
                       told = f->min_members > most ? f->min_members : most;
        const uint64_t n_counts = (told > 1 ? told : 1) + 1;
        if (n_counts * (o.n_declared + 1) << o.n_flags > SCHEMA_MAX_PLACES)
            schema_stop(c, RN_E_LIMIT, f->objects ? f->objects->node : NULL,
                        "an object with bounds on its members that needs more than %d states", SCHEMA_MAX_PLACES);
        o.n_counts = (uint32_t)n_counts;
        for (uint32_t i = 0; i < o.n_declared && schema_ok(c); i++) link_declared(&o, i);
        if (schema_ok(c)) link_others(&o);
        if (schema_ok(c)) link_end(&o);
    }
    mem_free(o.declared);
}
