// grammar/schema/meaning_members.c - the keywords of objects and arrays, unevaluated* included.
#include "base/mem.h"
#include "grammar/schema/meaning.h"
#include <string.h>

// ---- objects ----

void mean_has(struct making *m, const struct json_node *name, bool negated) {
    const struct list **const list = negated ? &m->f->lacks : &m->f->required;
    *list = schema_prepend(m->c, *list, (struct list){.node = name});
    if (!negated) m->f->types &= TYPE_OBJECT;
}

void mean_required(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "required");
    if (!v || v->kind == JSON_TRUE ||
        v->kind == JSON_FALSE) { // draft 3 has it beside a member's type: no condition on this value
        if (m->x->negated) m->f->types = 0;
        return;
    }
    if (!want(c, v, JSON_ARRAY, "an array")) return;
    struct ways ways = new_ways(c, v->n_items);
    EACH (name, i, v) {
        if (!want(c, name, JSON_STRING, "a string")) return;
        if (m->x->negated)
            add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_OBJECT), schema_not(node_lit(c, LIT_HAS, name))}, 2);
        else
            m->f->required = schema_prepend(c, m->f->required, (struct list){.node = name});
    }
    if (m->x->negated) one_of(m, ways);
}

static lit_id some_lit(struct context *c, enum names_of which, const struct json_node *node, lit_id sub) {
    return schema_lit(c, (struct lit){.kind = LIT_SOME, .group = (uint8_t)which, .node = node, .sub = sub});
}

void mean_members(struct making *m) {
    static const char *const names[] = {"properties", "patternProperties"};
    struct context *const c = m->c;
    const struct json_node *const other = json_member(m->x->node, "additionalProperties"), *parts[2];
    uint32_t n = 1;
    for (int k = 0; k < 2; k++) {
        parts[k] = json_member(m->x->node, names[k]);
        if (!parts[k]) continue;
        if (!want(c, parts[k], JSON_OBJECT, "an object")) return;
        EACH (s, i, parts[k])
            if (!want_schema(c, s)) return;
        n += parts[k]->n_items;
    }
    if (other && !want_schema(c, other)) return;
    if (!m->x->negated) {
        m->f->objects = schema_prepend(c, NULL, (struct list){.node = m->x->node, .scope = c->scope});
        return;
    }
    struct ways ways = new_ways(c, n);
    if (parts[0])
        EACH (s, i, parts[0])
            add_way(c, &ways,
                    (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_MEMBER, .node = s, .sub = not_of(c, s)})}, 1);
    if (parts[1])
        EACH (s, i, parts[1]) add_way(c, &ways, (lit_id[]){some_lit(c, NAMES_MATCHING, s, not_of(c, s))}, 1);
    if (other) add_way(c, &ways, (lit_id[]){some_lit(c, NAMES_OTHER, m->x->node, not_of(c, other))}, 1);
    one_of(m, ways);
}

void mean_names(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "propertyNames");
    if (!v || !want_schema(c, v)) return;
    if (m->x->negated)
        also(m, some_lit(c, NAMES_UNWANTED, v, schema_not(schema_lit(c, (struct lit){.kind = LIT_FALSE}))));
    else
        m->f->names = schema_prepend(c, NULL, (struct list){.lit = schema_of(c, v)});
}

// A string of an array of names, which may be a member of `dependencies` itself: its text is meant, not its own name.
static const struct json_node *text_as_name(struct context *c, const struct json_node *v) {
    struct json_node *const name = schema_alloc(c, sizeof *name);
    if (!name) return v;
    *name = *v, name->name = NULL, name->n_name = 0;
    return name;
}

// If there is such a member, then others are too (*wants, their names), or a schema holds. The parts of `dependency` beside has; 0
// after stopping.
static uint32_t dependency_lits(struct context *c, const struct json_node *dependency, lit_id **out,
                                const struct list **wants) {
    const bool is_list = dependency->kind == JSON_ARRAY, is_names = is_list || dependency->kind == JSON_STRING;
    const uint32_t n = is_list ? dependency->n_items : 1;
    lit_id *const lits = schema_alloc(c, (n + 1) * sizeof *lits);
    if (!lits || (!is_names && !want_schema(c, dependency))) return 0;
    *out = lits;
    if (!is_names) return lits[0] = schema_of(c, dependency), 1;
    const struct json_node *name = is_list ? json_first(dependency) : dependency;
    for (uint32_t i = 0; i < n; i++, name = json_next(name)) {
        if (!want(c, name, JSON_STRING, "a string")) return 0;
        const struct json_node *const wanted = is_list ? name : text_as_name(c, name);
        lits[i] = node_lit(c, LIT_HAS, wanted);
        *wants = schema_prepend(c, *wants, (struct list){.node = wanted});
    }
    return n;
}

void mean_dependencies(struct making *m) {
    struct context *const c = m->c;
    uint32_t n_broken = 0;
    EACH (k, i, m->x->node) {
        if (schema_group(k) != G_DEPENDENCIES) continue;
        if (!want(c, k, JSON_OBJECT, "an object")) return;
        EACH (d, n, k) n_broken += d->kind == JSON_ARRAY ? d->n_items : 1;
    }
    struct ways broken = new_ways(c, m->x->negated ? n_broken : 0);
    EACH (k, i, m->x->node) {
        if (schema_group(k) != G_DEPENDENCIES) continue;
        EACH (d, n, k) {
            lit_id *lits = NULL;
            const struct list *wants = NULL;
            const uint32_t n_lits = dependency_lits(c, d, &lits, &wants);
            if (!schema_ok(c)) return;
            const lit_id has = node_lit(c, LIT_HAS, d);
            for (uint32_t j = 0; j < n_lits && m->x->negated; j++)
                add_way(c, &broken, (lit_id[]){has, schema_not(lits[j])}, 2);
            if (m->x->negated) continue;
            struct ways ways = new_ways(c, 2);
            const lit_id lacks = schema_not(has);
            add_way(c, &ways, &lacks, 1);
            lit_id *const all = schema_alloc(c, (n_lits + 1) * sizeof *all);
            if (!all) return;
            all[0] = has;
            if (n_lits) memcpy(all + 1, lits, n_lits * sizeof *all);
            add_way(c, &ways, all, n_lits + 1);
            struct choice *const choice = one_of(m, ways);
            struct dependency *const one = schema_alloc(c, sizeof *one);
            if (!choice || !one) return;
            *one = (struct dependency){.if_has = d, .wants = wants};
            choice->dependency = wants ? one : NULL;
        }
    }
    if (m->x->negated) one_of(m, broken);
}

// ---- arrays ----

void mean_items(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const first = schema_first_items(m->x->node), *const other =
                                                                              schema_other_items(m->x->node);
    if (first) {
        if (!want(c, first, JSON_ARRAY, "an array")) return;
        EACH (s, i, first)
            if (!want_schema(c, s)) return;
    }
    if (other && !want_schema(c, other)) return;
    if (!m->x->negated) {
        if (first || other)
            m->f->arrays = schema_prepend(c, NULL, (struct list){.node = m->x->node, .scope = c->scope});
        return;
    }
    struct ways ways = new_ways(c, (first ? first->n_items : 0) + 1);
    if (first)
        EACH (s, i, first)
            add_way(c, &ways,
                    (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_ITEM, .number = i, .sub = not_of(c, s)})}, 1);
    const uint32_t from = first ? first->n_items : 0;
    if (other) {
        const struct lit some = {.kind = LIT_SOME_ITEM, .number = from, .sub = not_of(c, other)};
        add_way(c, &ways, (lit_id[]){schema_lit(c, some)}, 1);
    }
    one_of(m, ways);
}

void mean_unique(struct making *m) {
    const struct json_node *const v = json_member(m->x->node, "uniqueItems");
    const struct list here = {.node = v};
    if (!v || v->kind == JSON_FALSE) {
        if (m->x->negated) m->f->types = 0;
    } else if (want(m->c, v, JSON_TRUE, "true or false")) {
        *(m->x->negated ? &m->f->refused : &m->f->unique) = schema_prepend(m->c, NULL, here);
        if (m->x->negated) m->f->types = TYPE_ARRAY, m->f->min_items = 2;
    }
}

void mean_contains(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "contains"),
                                  *const min = json_member(m->x->node, "minContains"),
                                  *const max = json_member(m->x->node, "maxContains");
    uint64_t least = 1, most = UINT32_MAX;
    if (!v || !want_schema(c, v) || (min && !read_count(c, min, &least)) || (max && !read_count(c, max, &most)))
        return;
    const lit_id s = schema_of(c, v);
    if (!m->x->negated) {
        m->f->counts =
            schema_prepend(c, NULL, (struct list){.lit = s, .number = (uint32_t)least, .most = (uint32_t)most});
        if (c->contains_evaluates) m->f->contained = schema_prepend(c, NULL, (struct list){.lit = s});
        return;
    }
    struct ways ways = new_ways(c, 2);
    const lit_id array = types_lit(c, TYPE_ARRAY);
    if (least == 1) // every item is another
        add_way(c, &ways, (lit_id[]){array, schema_lit(c, (struct lit){.kind = LIT_ALL_ITEMS, .sub = schema_not(s)})},
                2);
    else if (least > 1)
        add_way(
            c, &ways,
            (lit_id[]){array, schema_lit(c, (struct lit){.kind = LIT_COUNT, .sub = s, .most = (uint32_t)least - 1})},
            2);
    if (most < UINT32_MAX) {
        const struct lit more = {.kind = LIT_COUNT, .sub = s, .number = (uint32_t)most + 1, .most = UINT32_MAX};
        add_way(c, &ways, (lit_id[]){array, schema_lit(c, more)}, 2);
    }
    one_of(m, ways);
}

// ---- unevaluatedProperties and unevaluatedItems ----

// The schema's other keywords are expanded into all ways in which they describe members or items: in each, what no
// subschema describes satisfies the keyword's schema.
static void mean_unevaluated_of(struct making *m, const struct json_node *k, unsigned type) {
    struct context *const c = m->c;
    lit_id lits[N_GROUPS];
    uint32_t n = 0;
    bool found[N_GROUPS] = {[G_NONE] = true, [G_UNEVALUATED] = true};
    EACH (beside, i, m->x->node) {
        const enum group g = schema_group(beside);
        if (found[g]) continue;
        found[g] = true;
        lits[n++] = schema_lit(c, (struct lit){.kind = LIT_KEYWORD, .node = m->x->node, .group = (uint8_t)g});
    }
    struct forms forms;
    if (schema_expand_evaluated(c, type, lits, n, &forms)) {
        struct ways ways = new_ways(c, forms.n + 1);
        const lit_id others = types_lit(c, TYPE_ALL & ~type);
        add_way(c, &ways, &others, 1);
        for (uint32_t i = 0; i < forms.n && schema_ok(c); i++) {
            const struct form *const f = &forms.of[i];
            if (!schema_grow(c, &c->rests, c->n_rests, &c->max_rests, sizeof *c->rests)) break;
            c->rests[c->n_rests] = (struct rest){type == TYPE_ARRAY ? f->arrays : f->objects, f->contained};
            const struct lit rest = {.kind = LIT_REST, .node = k, .group = (uint8_t)type, .number = c->n_rests++};
            const struct list *way = schema_prepend(c, NULL, (struct list){.lit = schema_lit(c, rest)});
            for (const struct list *l = f->seen; l; l = l->next)
                way = schema_prepend(c, way, (struct list){.lit = l->lit});
            ways.of[ways.n++] = way;
        }
        one_of(m, ways);
    }
    mem_free(forms.of);
}

void mean_unevaluated(struct making *m) {
    EACH (k, i, m->x->node) {
        if (schema_group(k) != G_UNEVALUATED || !want_schema(m->c, k)) continue;
        const unsigned type = json_member(m->x->node, "unevaluatedItems") == k ? TYPE_ARRAY : TYPE_OBJECT;
        if (m->x->negated) {
            m->f->refused = schema_prepend(m->c, m->f->refused, (struct list){.node = k});
            m->f->types = (m->f->types == TYPE_ALL ? 0 : m->f->types) | type;
        } else if (k->kind != JSON_TRUE) {
            mean_unevaluated_of(m, k, type);
        } else { // true evaluates all, for the schemas around this one
            struct list all = {.node = k, .number = LAYER_REST, .from = UINT32_MAX, .scope = m->c->scope};
            if (type == TYPE_ARRAY)
                m->f->arrays = schema_prepend(m->c, m->f->arrays, all);
            else
                m->f->objects = schema_prepend(m->c, m->f->objects, all);
        }
    }
}
