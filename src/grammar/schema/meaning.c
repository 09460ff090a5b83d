// grammar/schema/meaning.c - what a literal means (context.h), remembered for each.
#include "grammar/schema/meaning.h"
#include "base/mem.h"
#include "grammar/schema/numerals.h"
#include <string.h>

static const struct {
    const char *name;
    enum group group;
} keywords[] = {
    {"type", G_TYPE},
    {"enum", G_ENUM},
    {"const", G_CONST},
    {"minLength", G_STRING},
    {"maxLength", G_STRING},
    {"pattern", G_STRING},
    {"format", G_STRING},
    {"minimum", G_NUMBER},
    {"maximum", G_NUMBER},
    {"exclusiveMinimum", G_NUMBER},
    {"exclusiveMaximum", G_NUMBER},
    {"multipleOf", G_NUMBER},
    {"divisibleBy", G_NUMBER}, // draft 3
    {"required", G_REQUIRED},
    {"properties", G_MEMBERS},
    {"patternProperties", G_MEMBERS},
    {"additionalProperties", G_MEMBERS},
    {"minProperties", G_COUNT},
    {"maxProperties", G_COUNT},
    {"minItems", G_COUNT},
    {"maxItems", G_COUNT},
    {"propertyNames", G_NAMES},
    {"dependencies", G_DEPENDENCIES},
    {"dependentRequired", G_DEPENDENCIES},
    {"dependentSchemas", G_DEPENDENCIES},
    {"items", G_ITEMS},
    {"prefixItems", G_ITEMS},
    {"additionalItems", G_ITEMS},
    {"uniqueItems", G_UNIQUE},
    {"contains", G_CONTAINS},
    {"allOf", G_ALL_OF},
    {"anyOf", G_ANY_OF},
    {"oneOf", G_ONE_OF},
    {"not", G_NOT},
    {"if", G_IF},
    {"$ref", G_REF},
    {"$dynamicRef", G_REF},
    {"$recursiveRef", G_REF},
    {"unevaluatedProperties", G_UNEVALUATED},
    {"unevaluatedItems", G_UNEVALUATED},
};

enum group schema_group(const struct json_node *member) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        const char *const name = keywords[i].name;
        if (name[0] == member->name[0] && strlen(name) == member->n_name &&
            memcmp(name, member->name, member->n_name) == 0)
            return keywords[i].group;
    }
    return G_NONE;
}

// ---- parts of a meaning ----

void also(struct making *m, lit_id x) { m->w->todo = schema_prepend(m->c, m->w->todo, (struct list){.lit = x}); }

struct ways new_ways(struct context *c, uint32_t max) {
    struct ways x = {.max = max};
    x.of = schema_alloc(c, (max + 1) * sizeof *x.of);
    if (!x.of) x.max = 0;
    return x;
}

void add_way(struct context *c, struct ways *x, const lit_id *lits, uint32_t n) {
    if (x->n == x->max) return;
    const struct list *l = NULL;
    while (n-- > 0) l = schema_prepend(c, l, (struct list){.lit = lits[n]});
    x->of[x->n++] = l;
}

struct choice *one_of(struct making *m, struct ways x) {
    struct choice *const choice = schema_alloc(m->c, sizeof *choice);
    if (!choice) return NULL;
    *choice = (struct choice){
        .next = m->w->choices, .ways = x.of, .n = x.n, .unless = m->x->negated ? schema_not(m->id) : NO_LIT};
    m->w->choices = choice;
    return choice;
}

lit_id types_lit(struct context *c, unsigned types) {
    return schema_lit(c, (struct lit){.kind = LIT_TYPES, .number = types});
}
lit_id number_lit(struct context *c, enum lit_kind kind, uint64_t n) {
    return schema_lit(c, (struct lit){.kind = (uint8_t)kind, .number = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX});
}
lit_id node_lit(struct context *c, enum lit_kind kind, const struct json_node *n) {
    return schema_lit(c, (struct lit){.kind = (uint8_t)kind, .node = n});
}

// ---- what a keyword has to be ----

bool want(struct context *c, const struct json_node *v, enum json_kind kind, const char *what) {
    return v->kind == kind || schema_stop(c, RN_E_ARG, v, "must be %s, is %s", what, json_kind_name(v));
}

bool is_schema(const struct json_node *v) {
    return v->kind == JSON_OBJECT || v->kind == JSON_TRUE || v->kind == JSON_FALSE;
}

bool want_schema(struct context *c, const struct json_node *v) {
    return is_schema(v) ||
           schema_stop(c, RN_E_ARG, v, "must be a schema (an object, true or false), is %s", json_kind_name(v));
}

bool want_schemas(struct context *c, const struct json_node *v) {
    if (!want(c, v, JSON_ARRAY, "an array of schemas")) return false;
    EACH (s, i, v)
        if (!want_schema(c, s)) return false;
    return true;
}

// A whole number from 0, perhaps written 2.0.
bool read_count(struct context *c, const struct json_node *v, uint64_t *out) {
    struct decimal d;
    if (!want(c, v, JSON_NUMBER, "a number")) return false;
    if (!decimal_read(&d, v->text, v->n_text) || d.is_negative || d.part[0])
        return schema_stop(c, RN_E_ARG, v, "must be a whole number from 0");
    *out = 0;
    for (const char *s = d.whole; *s; s++) *out = *out < UINT32_MAX ? *out * 10 + (uint64_t)(*s - '0') : UINT32_MAX;
    return true;
}

// ---- literals ----

static void bound(uint64_t *value, uint64_t by, bool is_min) {
    if (is_min ? *value < by : *value > by) *value = by;
}

static void mean_count(struct making *m) {
    static const struct {
        const char *name;
        bool is_min, is_array;
    } rows[] = {{"minItems", true, true},
                {"maxItems", false, true},
                {"minProperties", true, false},
                {"maxProperties", false, false}};
    struct context *const c = m->c;
    struct ways ways = new_ways(c, m->x->negated ? 4 : 0);
    for (uint8_t i = 0; i < 4; i++) {
        uint64_t n = 0;
        const struct json_node *const v = json_member(m->x->node, rows[i].name);
        if (!v) continue;
        if (!read_count(c, v, &n)) return;
        if (m->x->negated) { // of one of them
            add_way(c, &ways, (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_BEYOND, .node = v, .number = i})}, 1);
        } else {
            struct form *const f = m->f;
            if (rows[i].is_array)
                bound(rows[i].is_min ? &f->min_items : &f->max_items, n, rows[i].is_min);
            else
                bound(rows[i].is_min ? &f->min_members : &f->max_members, n, rows[i].is_min);
        }
    }
    if (m->x->negated) one_of(m, ways);
}

// The opposite of one bound, a row of mean_count(): fewer than the least, or more than the most.
static void mean_beyond(struct making *m) {
    uint64_t n = 0;
    struct form *const f = m->f;
    const bool is_min = m->x->number % 2 == 0, is_array = m->x->number < 2;
    if (!read_count(m->c, m->x->node, &n)) return;
    f->types &= is_min && n == 0 ? 0u : is_array ? TYPE_ARRAY : TYPE_OBJECT;
    if (is_min)
        bound(is_array ? &f->max_items : &f->max_members, n ? n - 1 : 0, false);
    else
        bound(is_array ? &f->min_items : &f->min_members, n + 1, true);
}

static void mean_schema(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const s = m->x->node;
    if (s->kind == JSON_TRUE || s->kind == JSON_FALSE) {
        if ((s->kind == JSON_FALSE) != m->x->negated) m->f->types = 0;
        return;
    }
    bool found[N_GROUPS] = {false};
    lit_id all[N_GROUPS];
    uint32_t n = 0;
    const bool is_ref_alone = c->ref_is_alone && json_member(s, "$ref");
    EACH (k, i, s) { // in the order of the text, which is that of an object's members in the end
        const enum group g = schema_group(k);
        if (g == G_NONE || found[g] || (is_ref_alone && g != G_REF)) continue;
        found[g] = true;
        all[n++] = schema_lit(
            c, (struct lit){.kind = LIT_KEYWORD, .node = s, .group = (uint8_t)g, .negated = m->x->negated});
    }
    if (!m->x->negated) {
        while (n-- > 0) also(m, all[n]);
        return;
    }
    struct ways ways = new_ways(c, n);
    for (uint32_t i = 0; i < n; i++) add_way(c, &ways, &all[i], 1);
    one_of(m, ways);
}

static void (*const mean_group[N_GROUPS])(struct making *) = {
    [G_TYPE] = mean_type,         [G_ENUM] = mean_enum,
    [G_CONST] = mean_const,       [G_STRING] = mean_scalar,
    [G_NUMBER] = mean_scalar,     [G_REQUIRED] = mean_required,
    [G_MEMBERS] = mean_members,   [G_COUNT] = mean_count,
    [G_NAMES] = mean_names,       [G_DEPENDENCIES] = mean_dependencies,
    [G_ITEMS] = mean_items,       [G_UNIQUE] = mean_unique,
    [G_CONTAINS] = mean_contains, [G_ALL_OF] = mean_all_of,
    [G_ANY_OF] = mean_any_of,     [G_ONE_OF] = mean_one_of,
    [G_NOT] = mean_not,           [G_IF] = mean_if,
    [G_REF] = mean_ref,           [G_UNEVALUATED] = mean_unevaluated,
};

static void mean(struct making *m) {
    struct form *const f = m->f;
    const struct lit *const x = m->x;
    switch ((enum lit_kind)x->kind) {
    case LIT_FALSE: f->types = x->negated ? TYPE_ALL : 0; break;
    case LIT_SCHEMA: mean_schema(m); break;
    case LIT_KEYWORD: mean_group[x->group](m); break;
    case LIT_BEYOND: mean_beyond(m); break;
    case LIT_TYPES: f->types = x->negated ? TYPE_ALL & ~x->number : x->number; break;
    case LIT_CONST: mean_value(m, x->node); break;
    case LIT_PATTERN:
        f->types = TYPE_STRING, f->string = mean_pattern(m->c, x->node);
        if (x->negated) f->string = expr_not(m->c->e, f->string);
        break;
    case LIT_SCALARS: mean_scalars(m, x->node); break;
    case LIT_HAS: mean_has(m, x->node, x->negated); break;
    case LIT_MEMBER:
        mean_has(m, x->node, false);
        f->members = schema_prepend(m->c, NULL, (struct list){.node = x->node, .lit = x->sub});
        break;
    case LIT_SOME:
        f->types = TYPE_OBJECT;
        f->some = schema_prepend(
            m->c, NULL, (struct list){.node = x->node, .number = x->group, .lit = x->sub, .scope = x->scope});
        break;
    case LIT_ITEM:
        f->types = TYPE_ARRAY, f->min_items = x->number + 1;
        f->items = schema_prepend(m->c, NULL, (struct list){.number = x->number, .lit = x->sub});
        break;
    case LIT_SOME_ITEM:
        f->types = TYPE_ARRAY, f->min_items = x->number + 1;
        f->counts = schema_prepend(m->c, NULL,
                                   (struct list){.lit = x->sub, .number = 1, .most = UINT32_MAX, .from = x->number});
        break;
    case LIT_ALL_ITEMS: f->all_items = schema_prepend(m->c, NULL, (struct list){.lit = x->sub}); break;
    case LIT_MIN_ITEMS: f->min_items = x->number; break;
    case LIT_MAX_ITEMS: f->max_items = x->number; break;
    case LIT_COUNT:
        f->counts = schema_prepend(m->c, NULL, (struct list){.lit = x->sub, .number = x->number, .most = x->most});
        break;
    case LIT_EITHER:
        if (x->negated) {
            also(m, schema_not(x->sub)), also(m, schema_not(x->number));
        } else {
            struct ways ways = new_ways(m->c, 2);
            add_way(m->c, &ways, &x->sub, 1), add_way(m->c, &ways, &x->number, 1);
            one_of(m, ways);
        }
        break;
    case LIT_REST: {
        const struct list layer = {.node = x->node, .number = LAYER_REST, .from = x->number, .scope = x->scope};
        if (x->group == TYPE_ARRAY)
            f->arrays = schema_prepend(m->c, NULL, layer);
        else
            f->objects = schema_prepend(m->c, NULL, layer);
        break;
    }
    }
}

// Types of which a form accepts every value.
static unsigned free_types(const struct form *f) {
    unsigned types = f->types;
    if (f->string != EXPR_ANY) types &= ~(unsigned)TYPE_STRING;
    if (f->number != EXPR_ANY) types &= ~(unsigned)TYPE_NUMBER;
    if (f->min_items || f->max_items != UINT64_MAX || f->arrays || f->items || f->all_items || f->counts || f->unique)
        types &= ~(unsigned)TYPE_ARRAY;
    if (f->min_members || f->max_members != UINT64_MAX || f->objects || f->required || f->lacks || f->members ||
        f->some || f->names)
        types &= ~(unsigned)TYPE_OBJECT;
    return f->refused ? 0 : types;
}

const struct meaning *schema_meaning(struct context *c, lit_id id) {
    struct meaning *k = c->meanings[c->now->coding][id];
    const struct lit x = c->lits[id];
    if (!schema_ok(c)) return NULL;
    if (k && !k->is_known) return schema_stop(c, RN_E_ARG, x.node, "refers to itself"), NULL;
    if (k) return k;
    if (c->n_within == SCHEMA_MAX_WITHIN)
        return schema_stop(c, RN_E_LIMIT, x.node, "more than %d schemas apply to one value", SCHEMA_MAX_WITHIN), NULL;
    if (!(k = schema_alloc(c, sizeof *k))) return NULL;
    c->meanings[c->now->coding][id] = k;
    c->n_within++;
    k->own = (struct form){.types = TYPE_ALL,
                           .string = EXPR_ANY,
                           .number = EXPR_ANY,
                           .max_items = UINT64_MAX,
                           .max_members = UINT64_MAX};
    const uint32_t outer = c->scope;
    c->scope = x.scope;
    mean(&(struct making){.c = c, .id = id, .x = &x, .f = &k->own, .w = &k->rest});
    c->scope = outer;
    struct form *const f = &k->own;
    if (f->string == EXPR_NEVER) f->types &= ~(unsigned)TYPE_STRING;
    if (f->number == EXPR_NEVER) f->types &= ~(unsigned)TYPE_NUMBER;
    if (f->min_items > f->max_items) f->types &= ~(unsigned)TYPE_ARRAY;
    if (f->min_members > f->max_members) f->types &= ~(unsigned)TYPE_OBJECT;
    k->may = f->types, k->must = free_types(f), k->digits = f->digits;
    const bool is_alias = k->must == TYPE_ALL && !k->rest.choices && k->rest.todo && !k->rest.todo->next;
    k->alias = is_alias ? k->rest.todo->lit : NO_LIT;
    for (const struct list *l = k->rest.todo; l && schema_ok(c); l = l->next) {
        const struct meaning *const part = schema_meaning(c, l->lit);
        if (part) k->may &= part->may, k->must &= part->must, k->digits |= part->digits;
    }
    for (const struct choice *choice = k->rest.choices; choice && schema_ok(c); choice = choice->next) {
        unsigned may = 0, must = 0;
        for (uint32_t i = 0; i < choice->n && schema_ok(c); i++) {
            unsigned way_may = TYPE_ALL, way_must = TYPE_ALL;
            for (const struct list *l = choice->ways[i]; l && schema_ok(c); l = l->next) {
                const struct meaning *const part = schema_meaning(c, l->lit);
                if (part) way_may &= part->may, way_must &= part->must, k->digits |= part->digits;
            }
            may |= way_may, must |= way_must;
        }
        k->may &= may, k->must &= must;
    }
    c->n_within--;
    k->is_known = true;
    return schema_ok(c) ? k : NULL;
}
