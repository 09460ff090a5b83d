// grammar/schema/expand.c - expands a set of literals into forms (context.h): what a keyword means, and what its opposite.
#include "base/mem.h"
#include "grammar/regex.h"
#include "grammar/schema/context.h"
#include "grammar/schema/formats.h"
#include "grammar/schema/numerals.h"
#include <string.h>

enum group {
    G_TYPE,
    G_ENUM,
    G_CONST,
    G_STRING,
    G_NUMBER,
    G_REQUIRED,
    G_MEMBERS,
    G_MIN_MEMBERS,
    G_MAX_MEMBERS,
    G_NAMES,
    G_DEPENDENCIES,
    G_ITEMS,
    G_MIN_ITEMS,
    G_MAX_ITEMS,
    G_UNIQUE,
    G_CONTAINS,
    G_ALL_OF,
    G_ANY_OF,
    G_ONE_OF,
    G_NOT,
    G_IF,
    G_REF,
    G_UNEVALUATED,
    N_GROUPS,
    G_NONE
};

// Keywords by name. Those of a group are expanded together, at the first one.
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
    {"divisibleBy", G_NUMBER},
    {"required", G_REQUIRED},
    {"properties", G_MEMBERS},
    {"patternProperties", G_MEMBERS},
    {"additionalProperties", G_MEMBERS},
    {"minProperties", G_MIN_MEMBERS},
    {"maxProperties", G_MAX_MEMBERS},
    {"propertyNames", G_NAMES},
    {"dependencies", G_DEPENDENCIES},
    {"dependentRequired", G_DEPENDENCIES},
    {"dependentSchemas", G_DEPENDENCIES},
    {"items", G_ITEMS},
    {"prefixItems", G_ITEMS},
    {"additionalItems", G_ITEMS},
    {"minItems", G_MIN_ITEMS},
    {"maxItems", G_MAX_ITEMS},
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

static enum group group_of(const struct json_node *member) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].name) == member->n_name && memcmp(keywords[i].name, member->name, member->n_name) == 0)
            return keywords[i].group;
    return G_NONE;
}

// ---- lists and choices ----

struct choice { // one of several lists of literals
    const struct choice *next;
    const struct list **ways;
    uint32_t n;
};

struct work {
    const struct list *todo;
    const struct choice *choices;
};

static const struct list *prepend(struct context *c, const struct list *next, struct list x) {
    struct list *const l = schema_alloc(c, sizeof *l);
    if (!l) return next;
    *l = x;
    l->next = next;
    return l;
}

static void also(struct context *c, struct work *w, lit_id x) {
    w->todo = prepend(c, w->todo, (struct list){.lit = x});
}

// All of n, the first one first.
static void also_all(struct context *c, struct work *w, const lit_id *lits, uint32_t n) {
    while (n-- > 0) also(c, w, lits[n]);
}

struct ways {
    const struct list **of;
    uint32_t n, max;
};

static struct ways new_ways(struct context *c, uint32_t max) {
    struct ways x = {.max = max};
    x.of = schema_alloc(c, (max + 1) * sizeof *x.of);
    if (!x.of) x.max = 0;
    return x;
}

// One way: all of n literals.
static void add_way(struct context *c, struct ways *x, const lit_id *lits, uint32_t n) {
    if (x->n == x->max) return;
    const struct list *l = NULL;
    for (uint32_t i = 0; i < n; i++) l = prepend(c, l, (struct list){.lit = lits[i]});
    x->of[x->n++] = l;
}

static void one_of(struct context *c, struct work *w, struct ways x) {
    struct choice *const choice = schema_alloc(c, sizeof *choice);
    if (!choice) return;
    *choice = (struct choice){w->choices, x.of, x.n};
    w->choices = choice;
}

static lit_id types_lit(struct context *c, unsigned types) {
    return schema_lit(c, (struct lit){.kind = LIT_TYPES, .number = types});
}
static lit_id number_lit(struct context *c, enum lit_kind kind, uint64_t n) {
    return schema_lit(c, (struct lit){.kind = (uint8_t)kind, .number = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX});
}
static lit_id node_lit(struct context *c, enum lit_kind kind, const struct json_node *n) {
    return schema_lit(c, (struct lit){.kind = (uint8_t)kind, .node = n});
}
static lit_id not_of(struct context *c, const struct json_node *schema) {
    return schema_not(c, schema_of(c, schema));
}

#define EACH(v, i, list)                                                                                             \
    (uint32_t i = 0, once_##i = 1; once_##i; once_##i = 0) for (const struct json_node *v = json_first(list);        \
                                                                i < (list)->n_items; i++, v = json_next(v))

// ---- checks of what a keyword has to be ----

static bool want(struct context *c, const struct json_node *v, enum json_kind kind, const char *what) {
    return v->kind == kind || schema_stop(c, RN_E_ARG, v, "must be %s, is %s", what, json_kind_name(v));
}

static bool is_schema(const struct json_node *v) {
    return v->kind == JSON_OBJECT || v->kind == JSON_TRUE || v->kind == JSON_FALSE;
}

static bool want_schema(struct context *c, const struct json_node *v) {
    return is_schema(v) ||
           schema_stop(c, RN_E_ARG, v, "must be a schema (an object, true or false), is %s", json_kind_name(v));
}

// A count: a whole number from 0, perhaps written 2.0.
static bool read_count(struct context *c, const struct json_node *v, uint64_t *out) {
    struct decimal d;
    if (!want(c, v, JSON_NUMBER, "a number")) return false;
    if (!decimal_read(&d, v->text, v->n_text) || d.is_negative || d.part[0])
        return schema_stop(c, RN_E_ARG, v, "must be a whole number from 0");
    *out = 0;
    for (const char *s = d.whole; *s; s++) *out = *out < UINT32_MAX ? *out * 10 + (uint64_t)(*s - '0') : UINT32_MAX;
    return true;
}

// ---- conditions on strings and numbers ----

static void narrow(struct context *c, expr_id *x, expr_id by) { *x = expr_and2(c->e, *x, by); }

static unsigned const_type(const struct json_node *v) {
    static const unsigned types[] = {
        [JSON_NULL] = TYPE_NULL,     [JSON_FALSE] = TYPE_FALSE,   [JSON_TRUE] = TYPE_TRUE,
        [JSON_NUMBER] = TYPE_NUMBER, [JSON_STRING] = TYPE_STRING, [JSON_ARRAY] = TYPE_ARRAY,
        [JSON_OBJECT] = TYPE_OBJECT};
    return types[v->kind];
}

static expr_id string_text(struct context *c, const struct json_node *v) {
    return chars_text(c->e, v->text, v->n_text, CODING_JSON);
}

static expr_id number_text(struct context *c, const struct json_node *v) {
    struct decimal d;
    if (decimal_read(&d, v->text, v->n_text)) return numerals_equal(c->e, &d);
    return expr_text(c->e, v->text, v->n_text);
}

static bool string_keyword(struct context *c, const struct json_node *k, expr_id *out) {
    uint64_t n = 0;
    if (json_is(&(struct json_node){.kind = JSON_STRING, .text = k->name, .n_text = k->n_name}, "pattern")) {
        if (!want(c, k, JSON_STRING, "a string")) return false;
        return schema_pattern(c, k, out) == RN_OK;
    }
    if (k->name[0] == 'f') { // format
        if (!want(c, k, JSON_STRING, "a string")) return false;
        const char *const pattern = format_pattern(k->text, k->n_text);
        *out = EXPR_ANY;
        if (!pattern) return true; // an annotation
        rn_error why = {0};
        const rn_status st = regex_expr(c->e, pattern, strlen(pattern), REGEX_WHOLE, CODING_JSON, out, &why);
        return st == RN_OK || schema_stop(c, st, k, "%s", why.text);
    }
    if (!read_count(c, k, &n)) return false;
    const bool is_min = k->name[1] == 'i';
    if (n > EXPR_NO_MAX / 2) n = EXPR_NO_MAX / 2;
    *out = expr_repeat(c->e, c->any_char, is_min ? (uint32_t)n : 0, is_min ? EXPR_NO_MAX : (uint32_t)n);
    return true;
}

// schema: of the keyword, where draft 4 has `exclusiveMinimum: true` beside `minimum`.
static bool number_keyword(struct context *c, const struct json_node *schema, const struct json_node *k,
                           expr_id *out) {
    struct decimal d;
    *out = EXPR_ANY;
    const bool is_exclusive_word = k->name[0] == 'e';
    if (is_exclusive_word && (k->kind == JSON_TRUE || k->kind == JSON_FALSE)) return true; // read with its bound
    if (!want(c, k, JSON_NUMBER, "a number")) return false;
    if (!decimal_read(&d, k->text, k->n_text))
        return schema_stop(c, RN_E_UNSUPPORTED, k, "a number of more than %d digits", DECIMAL_MAX_DIGITS);
    if (k->name[1] == 'u' || k->name[0] == 'd') { // multipleOf, divisibleBy
        *out = numerals_multiple(c->e, &d);
        return *out != EXPR_NEVER || !schema_ok(c) ||
               schema_stop(c, RN_E_UNSUPPORTED, k, "only multiples of positive numbers with up to 6 digits");
    }
    const bool is_min = is_exclusive_word ? k->name[10] == 'i' : k->name[1] == 'i';
    const struct json_node *const beside = json_member(schema, is_min ? "exclusiveMinimum" : "exclusiveMaximum");
    const bool is_exclusive = is_exclusive_word || (beside && beside->kind == JSON_TRUE);
    *out = is_min ? numerals_least(c->e, &d, is_exclusive) : numerals_most(c->e, &d, is_exclusive);
    return true;
}

// Every keyword of a group of strings or numbers, or with `negated` any opposite.
static void scalar_group(struct context *c, struct form *f, const struct lit *x) {
    const bool is_string = x->group == G_STRING;
    expr_id *const text = is_string ? &f->string : &f->number;
    expr_id all = EXPR_ANY;
    for
        EACH(k, i, x->node) {
            expr_id one = EXPR_ANY;
            if (group_of(k) != x->group) continue;
            if (!(is_string ? string_keyword(c, k, &one) : number_keyword(c, x->node, k, &one))) return;
            narrow(c, &all, one);
        }
    if (!x->negated) {
        narrow(c, text, all);
        return;
    }
    f->types &= is_string ? TYPE_STRING : TYPE_NUMBER;
    narrow(c, text, expr_not(c->e, all));
}

static bool type_bits(struct context *c, const struct json_node *v, unsigned *types, bool *is_whole) {
    static const struct {
        const char *name;
        unsigned types;
    } names[] = {{"null", TYPE_NULL},     {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"number", TYPE_NUMBER}, {"integer", TYPE_NUMBER},
                 {"string", TYPE_STRING}, {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}, {"any", TYPE_ALL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is(v, names[i].name)) {
            *is_whole = names[i].name[0] == 'i';
            *types = names[i].types;
            return true;
        }
    if (is_schema(v)) return schema_stop(c, RN_E_UNSUPPORTED, v, "a schema in `type` (draft 3) is not supported");
    return want(c, v, JSON_STRING, "a type's name") && schema_stop(c, RN_E_ARG, v, "is not the name of a type");
}

static void type_group(struct context *c, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "type");
    unsigned types = 0, one = 0;
    bool is_whole = false, all_whole = true, any_whole = false;
    if (!v) return;
    if (v->kind == JSON_ARRAY) {
        for
            EACH(t, i, v) {
                if (!type_bits(c, t, &one, &is_whole)) return;
                if (one & TYPE_NUMBER) all_whole &= is_whole, any_whole |= is_whole;
                types |= one;
            }
        is_whole = any_whole && all_whole;
    } else if (!type_bits(c, v, &types, &is_whole)) {
        return;
    }
    if (!x->negated) {
        f->types &= types;
        if (is_whole) narrow(c, &f->number, numerals_whole(c->e));
    } else {
        f->types &= ~types | (is_whole ? TYPE_NUMBER : 0u);
        if (is_whole) narrow(c, &f->number, expr_not(c->e, numerals_whole(c->e)));
    }
}

// ---- values ----

static void const_value(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = x->node;
    const unsigned type = const_type(v);
    if (type & (TYPE_NULL | TYPE_FALSE | TYPE_TRUE)) {
        f->types &= x->negated ? ~type : type;
    } else if (type & (TYPE_STRING | TYPE_NUMBER)) {
        const expr_id text = type == TYPE_STRING ? string_text(c, v) : number_text(c, v);
        if (!x->negated) f->types &= type;
        narrow(c, type == TYPE_STRING ? &f->string : &f->number, x->negated ? expr_not(c->e, text) : text);
    } else if (!x->negated) {
        f->types &= type;
        if (type == TYPE_ARRAY) {
            if (f->min_items < v->n_items) f->min_items = v->n_items;
            if (f->max_items > v->n_items) f->max_items = v->n_items;
            for
                EACH(item, i, v)
            f->items = prepend(c, f->items, (struct list){.number = i, .lit = node_lit(c, LIT_CONST, item)});
        } else {
            f->objects = prepend(c, f->objects, (struct list){.node = v, .number = 1});
            for
                EACH(member, i, v) f->required = prepend(c, f->required, (struct list){.node = member});
        }
    } else if (type == TYPE_ARRAY) {
        struct ways ways = new_ways(c, v->n_items + 3);
        add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ALL & ~(unsigned)TYPE_ARRAY)}, 1);
        if (v->n_items)
            add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ARRAY), number_lit(c, LIT_MAX_ITEMS, v->n_items - 1)}, 2);
        add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ARRAY), number_lit(c, LIT_MIN_ITEMS, v->n_items + 1)}, 2);
        for
            EACH(item, i, v)
        add_way(
            c, &ways,
            (lit_id[]){schema_lit(
                c, (struct lit){.kind = LIT_ITEM, .number = i, .sub = schema_not(c, node_lit(c, LIT_CONST, item))})},
            1);
        one_of(c, w, ways);
    } else {
        struct ways ways = new_ways(c, 2 * v->n_items + 2);
        const lit_id any = schema_not(c, schema_lit(c, (struct lit){.kind = LIT_FALSE}));
        add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_ALL & ~(unsigned)TYPE_OBJECT)}, 1);
        add_way(c, &ways,
                (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_SOME, .node = v, .number = 1, .sub = any})}, 1);
        for
            EACH(member, i, v) {
                add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_OBJECT), schema_not(c, node_lit(c, LIT_HAS, member))},
                        2);
                const lit_id other = schema_not(c, node_lit(c, LIT_CONST, member));
                add_way(c, &ways,
                        (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_MEMBER, .node = member, .sub = other})}, 1);
            }
        one_of(c, w, ways);
    }
}

static bool is_scalar(const struct json_node *v) { return v->kind != JSON_ARRAY && v->kind != JSON_OBJECT; }

static void scalars(struct context *c, struct form *f, const struct json_node *list) {
    unsigned types = 0;
    expr_id strings = EXPR_NEVER, numbers = EXPR_NEVER;
    expr_id *const all = schema_alloc(c, (list->n_items + 1) * sizeof *all);
    uint32_t n = 0;
    if (!all) return;
    for
        EACH(v, i, list) {
            if (!is_scalar(v)) continue;
            types |= const_type(v);
            if (v->kind == JSON_STRING) all[n++] = string_text(c, v);
            if (v->kind == JSON_NUMBER) numbers = expr_or2(c->e, numbers, number_text(c, v));
        }
    strings = expr_or(c->e, all, n);
    f->types &= types;
    if (types & TYPE_STRING) narrow(c, &f->string, strings);
    if (types & TYPE_NUMBER) narrow(c, &f->number, numbers);
}

static void enum_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "enum");
    uint32_t n_composite = 0;
    if (!v || !want(c, v, JSON_ARRAY, "an array")) return;
    for
        EACH(item, i, v) {
            if (x->negated) also(c, w, schema_not(c, node_lit(c, LIT_CONST, item)));
            n_composite += !is_scalar(item);
        }
    if (x->negated) return;
    if (n_composite == 0) {
        scalars(c, f, v);
        return;
    }
    struct ways ways = new_ways(c, n_composite + 1);
    if (n_composite < v->n_items) add_way(c, &ways, (lit_id[]){node_lit(c, LIT_SCALARS, v)}, 1);
    for
        EACH(item, i, v)
    if (!is_scalar(item)) add_way(c, &ways, (lit_id[]){node_lit(c, LIT_CONST, item)}, 1);
    one_of(c, w, ways);
}

// ---- objects ----

static void required_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "required");
    if (!v) return;
    if (v->kind == JSON_TRUE || v->kind == JSON_FALSE)
        return; // draft 3 has it beside a member's type: no condition on this value
    if (!want(c, v, JSON_ARRAY, "an array")) return;
    struct ways ways = new_ways(c, v->n_items);
    for
        EACH(name, i, v) {
            if (!want(c, name, JSON_STRING, "a string")) return;
            if (x->negated)
                add_way(c, &ways, (lit_id[]){types_lit(c, TYPE_OBJECT), schema_not(c, node_lit(c, LIT_HAS, name))},
                        2);
            else
                f->required = prepend(c, f->required, (struct list){.node = name});
        }
    if (x->negated) one_of(c, w, ways);
}

static void members_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    static const char *const names[] = {"properties", "patternProperties"};
    const struct json_node *const other = json_member(x->node, "additionalProperties");
    uint32_t n = 1;
    for (int k = 0; k < 2; k++) {
        const struct json_node *const v = json_member(x->node, names[k]);
        if (!v) continue;
        if (!want(c, v, JSON_OBJECT, "an object")) return;
        for
            EACH(s, i, v)
        if (!want_schema(c, s)) return;
        n += v->n_items;
    }
    if (other && !want_schema(c, other)) return;
    if (!x->negated) {
        f->objects = prepend(c, f->objects, (struct list){.node = x->node});
        return;
    }
    struct ways ways = new_ways(c, n);
    const struct json_node *const properties = json_member(x->node, names[0]), *const patterns =
                                                                                   json_member(x->node, names[1]);
    if (patterns && patterns->n_items && (f->types & TYPE_OBJECT)) {
        for
            EACH(s, i, patterns)
        if (s->kind != JSON_TRUE) schema_stop(c, RN_E_UNSUPPORTED, patterns, "cannot be negated");
    }
    if (properties)
        for
            EACH(s, i, properties)
    add_way(c, &ways, (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_MEMBER, .node = s, .sub = not_of(c, s)})}, 1);
    if (other)
        add_way(c, &ways,
                (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_SOME, .node = x->node, .sub = not_of(c, other)})},
                1);
    one_of(c, w, ways);
}

// Each keyword of dependencies: if there is such a member, then others are too, or a schema holds.
static void dependencies_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    struct ways broken = new_ways(c, x->negated ? 4096 : 0);
    (void)f;
    for
        EACH(k, i, x->node) {
            if (group_of(k) != G_DEPENDENCIES) continue;
            if (!want(c, k, JSON_OBJECT, "an object")) return;
        for
            EACH(d, n, k) {
                const lit_id has = node_lit(c, LIT_HAS, d);
                struct ways ways = new_ways(c, 2);
                if (d->kind == JSON_ARRAY || d->kind == JSON_STRING) {
                    const uint32_t n_names = d->kind == JSON_ARRAY ? d->n_items : 1;
                    lit_id *const lits = schema_alloc(c, (n_names + 1) * sizeof *lits);
                    if (!lits) return;
                    lits[0] = has;
                    const struct json_node *name = d->kind == JSON_ARRAY ? json_first(d) : d;
                    for (uint32_t m = 0; m < n_names; m++, name = json_next(name)) {
                        if (!want(c, name, JSON_STRING, "a string")) return;
                        // A string in `dependencies` is a member's own name in the tree: its text is another's.
                        struct json_node *const other = schema_alloc(c, sizeof *other);
                        if (!other) return;
                        *other = *name, other->name = NULL, other->n_name = 0;
                        lits[m + 1] = node_lit(c, LIT_HAS, other);
                        if (x->negated) add_way(c, &broken, (lit_id[]){has, schema_not(c, lits[m + 1])}, 2);
                    }
                    add_way(c, &ways, lits, n_names + 1);
                } else {
                    if (!want_schema(c, d)) return;
                    if (x->negated) add_way(c, &broken, (lit_id[]){has, not_of(c, d)}, 2);
                    add_way(c, &ways, (lit_id[]){has, schema_of(c, d)}, 2);
                }
                add_way(c, &ways, (lit_id[]){schema_not(c, has)}, 1);
                if (!x->negated) one_of(c, w, ways);
            }
        }
    if (x->negated) one_of(c, w, broken);
}

// ---- arrays ----

// The schemas of the first items (a list) and of the others; NULL: none.
static const struct json_node *first_items(const struct json_node *schema) {
    const struct json_node *const prefix = json_member(schema, "prefixItems"), *const items =
                                                                                   json_member(schema, "items");
    return prefix ? prefix : items && items->kind == JSON_ARRAY ? items : NULL;
}

static const struct json_node *other_items(const struct json_node *schema) {
    const struct json_node *const items = json_member(schema, "items");
    return items && items->kind == JSON_ARRAY ? json_member(schema, "additionalItems") : items;
}

static void items_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const first = first_items(x->node), *const other = other_items(x->node);
    if (first) {
        if (!want(c, first, JSON_ARRAY, "an array")) return;
        for
            EACH(s, i, first)
        if (!want_schema(c, s)) return;
    }
    if (other && !want_schema(c, other)) return;
    if (!x->negated) {
        f->arrays = prepend(c, f->arrays, (struct list){.node = x->node});
        return;
    }
    struct ways ways = new_ways(c, (first ? first->n_items : 0) + 1);
    if (first)
        for
            EACH(s, i, first)
    add_way(c, &ways, (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_ITEM, .number = i, .sub = not_of(c, s)})}, 1);
    const uint32_t from = first ? first->n_items : 0;
    if (other)
        add_way(
            c, &ways,
            (lit_id[]){schema_lit(c, (struct lit){.kind = LIT_SOME_ITEM, .number = from, .sub = not_of(c, other)})},
            1);
    one_of(c, w, ways);
}

static void contains_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "contains"),
                                  *const min = json_member(x->node, "minContains"),
                                  *const max = json_member(x->node, "maxContains");
    uint64_t least = 1, most = UINT32_MAX;
    if (!v || !want_schema(c, v) || (min && !read_count(c, min, &least)) || (max && !read_count(c, max, &most)))
        return;
    const lit_id s = schema_of(c, v);
    if (!x->negated) {
        f->counts = prepend(c, f->counts, (struct list){.lit = s, .number = (uint32_t)least, .most = (uint32_t)most});
        return;
    }
    struct ways ways = new_ways(c, 2);
    const lit_id array = types_lit(c, TYPE_ARRAY);
    if (least == 1) // every item is another
        add_way(c, &ways,
                (lit_id[]){array, schema_lit(c, (struct lit){.kind = LIT_ALL_ITEMS, .sub = schema_not(c, s)})}, 2);
    else if (least > 1)
        add_way(
            c, &ways,
            (lit_id[]){
                array,
                schema_lit(c, (struct lit){.kind = LIT_COUNT, .sub = s, .number = 0, .most = (uint32_t)least - 1})},
            2);
    if (most < UINT32_MAX)
        add_way(c, &ways,
                (lit_id[]){array, schema_lit(c, (struct lit){.kind = LIT_COUNT,
                                                             .sub = s,
                                                             .number = (uint32_t)most + 1,
                                                             .most = UINT32_MAX})},
                2);
    one_of(c, w, ways);
}

// ---- schemas within schemas ----

static bool want_schemas(struct context *c, const struct json_node *v) {
    if (!want(c, v, JSON_ARRAY, "an array of schemas")) return false;
    for
        EACH(s, i, v)
    if (!want_schema(c, s)) return false;
    return true;
}

static void all_of_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "allOf");
    (void)f;
    if (!v || !want_schemas(c, v)) return;
    struct ways ways = new_ways(c, x->negated ? v->n_items : 0);
    lit_id *const all = schema_alloc(c, (v->n_items + 1) * sizeof *all);
    if (!all) return;
    for
        EACH(s, i, v) {
            if (x->negated)
                add_way(c, &ways, (lit_id[]){not_of(c, s)}, 1);
            else
                all[i] = schema_of(c, s);
        }
    if (x->negated)
        one_of(c, w, ways);
    else
        also_all(c, w, all, v->n_items);
}

static void any_of_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "anyOf");
    (void)f;
    if (!v || !want_schemas(c, v)) return;
    struct ways ways = new_ways(c, x->negated ? 0 : v->n_items);
    for
        EACH(s, i, v) {
            if (x->negated)
                also(c, w, not_of(c, s));
            else
                add_way(c, &ways, (lit_id[]){schema_of(c, s)}, 1);
        }
    if (!x->negated) one_of(c, w, ways);
}

static void one_of_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "oneOf");
    (void)f;
    if (!v || !want_schemas(c, v)) return;
    const uint32_t n = v->n_items;
    lit_id *const lits = schema_alloc(c, (n + 1) * sizeof *lits);
    struct ways ways = new_ways(c, x->negated ? n * n / 2 + 1 : n);
    if (!lits) return;
    if (x->negated) { // none, or two
        for
            EACH(s, i, v) lits[i] = not_of(c, s);
        add_way(c, &ways, lits, n);
        for
            EACH(s, i, v) {
                const struct json_node *t = json_next(s);
                for (uint32_t k = i + 1; k < n; k++, t = json_next(t))
                    if (!schema_disjoint(c, s, t)) add_way(c, &ways, (lit_id[]){schema_of(c, s), schema_of(c, t)}, 2);
            }
    } else {
        for
            EACH(s, i, v) {
                uint32_t m = 0;
            for
                EACH(t, k, v)
            if (k != i && !schema_disjoint(c, s, t)) lits[m++] = not_of(c, t);
            lits[m++] = schema_of(c, s);
            add_way(c, &ways, lits, m);
            }
    }
    one_of(c, w, ways);
}

static void not_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "not");
    (void)f;
    if (v && want_schema(c, v)) also(c, w, x->negated ? schema_of(c, v) : not_of(c, v));
}

static void if_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const v = json_member(x->node, "if"), *const then = json_member(x->node, "then"),
                                  *const otherwise = json_member(x->node, "else");
    (void)f;
    if (!v || !want_schema(c, v) || (then && !want_schema(c, then)) || (otherwise && !want_schema(c, otherwise)))
        return;
    if (!then && !otherwise && !x->negated) return;
    struct ways ways = new_ways(c, 2);
    const lit_id yes = schema_of(c, v), no = schema_not(c, yes);
    if (!x->negated) {
        add_way(c, &ways, (lit_id[]){yes, then ? schema_of(c, then) : yes}, 2);
        add_way(c, &ways, (lit_id[]){no, otherwise ? schema_of(c, otherwise) : no}, 2);
    } else {
        if (then) add_way(c, &ways, (lit_id[]){yes, not_of(c, then)}, 2);
        if (otherwise) add_way(c, &ways, (lit_id[]){no, not_of(c, otherwise)}, 2);
    }
    one_of(c, w, ways);
}

static void ref_group(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    (void)f;
    for
        EACH(k, i, x->node) {
            if (group_of(k) != G_REF) continue;
            const struct json_node *const to = schema_resolve(c, k);
            if (!to || !want_schema(c, to)) return;
            also(c, w, x->negated ? not_of(c, to) : schema_of(c, to));
        }
}

// ---- single conditions ----

static void bound(uint64_t *value, uint64_t by, bool is_min) {
    if (is_min ? *value < by : *value > by) *value = by;
}

static void count_group(struct context *c, struct form *f, const struct lit *x) {
    static const struct {
        const char *name;
        enum group group;
        bool is_min, is_array;
    } rows[] = {{"minItems", G_MIN_ITEMS, true, true},
                {"maxItems", G_MAX_ITEMS, false, true},
                {"minProperties", G_MIN_MEMBERS, true, false},
                {"maxProperties", G_MAX_MEMBERS, false, false}};
    for (int i = 0; i < 4; i++) {
        uint64_t n;
        if (rows[i].group != x->group) continue;
        const struct json_node *const v = json_member(x->node, rows[i].name);
        if (!v || !read_count(c, v, &n)) return;
        const bool is_min = rows[i].is_min != x->negated;
        uint64_t *const value = rows[i].is_array ? (is_min ? &f->min_items : &f->max_items)
                                : is_min         ? &f->min_members
                                                 : &f->max_members;
        if (x->negated) {
            f->types &= rows[i].is_array ? TYPE_ARRAY : TYPE_OBJECT;
            if (!is_min && n == 0) f->types = 0;
        }
        bound(value, !x->negated ? n : is_min ? n + 1 : n - (n > 0), is_min);
    }
}

static void has_name(struct context *c, struct form *f, const struct json_node *name, bool negated) {
    if (negated) {
        f->lacks = prepend(c, f->lacks, (struct list){.node = name});
    } else {
        f->types &= TYPE_OBJECT;
        f->required = prepend(c, f->required, (struct list){.node = name});
    }
    for (const struct list *r = f->required; r; r = r->next)
        for (const struct list *l = f->lacks; l; l = l->next)
            if (schema_same_name(r->node, l->node)) f->types &= ~(unsigned)TYPE_OBJECT;
}

static void keyword(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *v;
    switch ((enum group)x->group) {
    case G_TYPE: type_group(c, f, x); break;
    case G_ENUM: enum_group(c, w, f, x); break;
    case G_CONST:
        for
            EACH(k, i, x->node)
        if (group_of(k) == G_CONST)
            const_value(c, w, f, &(struct lit){.kind = LIT_CONST, .node = k, .negated = x->negated});
        break;
    case G_STRING:
    case G_NUMBER: scalar_group(c, f, x); break;
    case G_REQUIRED: required_group(c, w, f, x); break;
    case G_MEMBERS: members_group(c, w, f, x); break;
    case G_MIN_MEMBERS:
    case G_MAX_MEMBERS:
    case G_MIN_ITEMS:
    case G_MAX_ITEMS: count_group(c, f, x); break;
    case G_NAMES:
        v = json_member(x->node, "propertyNames");
        if (!v || !want_schema(c, v)) break;
        if (!x->negated)
            f->names = prepend(c, f->names, (struct list){.lit = schema_of(c, v)});
        else if (f->types & TYPE_OBJECT)
            schema_stop(c, RN_E_UNSUPPORTED, v, "cannot be negated");
        break;
    case G_DEPENDENCIES: dependencies_group(c, w, f, x); break;
    case G_ITEMS: items_group(c, w, f, x); break;
    case G_UNIQUE:
        v = json_member(x->node, "uniqueItems");
        if (!v || v->kind == JSON_FALSE) {
            if (x->negated) f->types = 0;
        } else if (x->negated && (f->types & TYPE_ARRAY)) {
            schema_stop(c, RN_E_UNSUPPORTED, v, "cannot be negated");
        } else {
            f->unique = prepend(c, f->unique, (struct list){.node = v});
        }
        break;
    case G_CONTAINS: contains_group(c, w, f, x); break;
    case G_ALL_OF: all_of_group(c, w, f, x); break;
    case G_ANY_OF: any_of_group(c, w, f, x); break;
    case G_ONE_OF: one_of_group(c, w, f, x); break;
    case G_NOT: not_group(c, w, f, x); break;
    case G_IF: if_group(c, w, f, x); break;
    case G_REF: ref_group(c, w, f, x); break;
    case G_UNEVALUATED:
        for
            EACH(k, i, x->node)
        if (group_of(k) == G_UNEVALUATED && (k->kind != JSON_TRUE || x->negated))
            schema_stop(c, RN_E_UNSUPPORTED, k, "is not supported");
        break;
    case N_GROUPS:
    case G_NONE: break;
    }
}

static void schema(struct context *c, struct work *w, struct form *f, const struct lit *x) {
    const struct json_node *const s = x->node;
    if (s->kind == JSON_TRUE || s->kind == JSON_FALSE) {
        if ((s->kind == JSON_FALSE) != x->negated) f->types = 0;
        return;
    }
    bool found[N_GROUPS] = {false};
    lit_id all[N_GROUPS];
    uint32_t n = 0;
    const bool is_ref_alone = c->ref_is_alone && json_member(s, "$ref");
    for
        EACH(k, i, s) { // in the order of the text, which is that of an object's members in the end
            const enum group g = group_of(k);
            if (g == G_NONE || found[g] || (is_ref_alone && g != G_REF)) continue;
            found[g] = true;
            all[n++] = schema_lit(
                c, (struct lit){.kind = LIT_KEYWORD, .node = s, .group = (uint8_t)g, .negated = x->negated});
        }
    if (!x->negated) {
        also_all(c, w, all, n);
        return;
    }
    struct ways ways = new_ways(c, n);
    for (uint32_t i = 0; i < n; i++) add_way(c, &ways, &all[i], 1);
    one_of(c, w, ways);
}

static void apply(struct context *c, struct work *w, struct form *f, lit_id id) {
    const struct lit x = c->lits[id];
    for (const struct list *l = f->seen; l; l = l->next) {
        if (l->lit == id) return;
        if (l->lit == (id ^ 1)) return (void)(f->types = 0);
    }
    f->seen = prepend(c, f->seen, (struct list){.lit = id});
    switch ((enum lit_kind)x.kind) {
    case LIT_FALSE:
        if (!x.negated) f->types = 0;
        break;
    case LIT_SCHEMA: schema(c, w, f, &x); break;
    case LIT_KEYWORD: keyword(c, w, f, &x); break;
    case LIT_TYPES: f->types &= x.number; break;
    case LIT_CONST: const_value(c, w, f, &x); break;
    case LIT_SCALARS: scalars(c, f, x.node); break;
    case LIT_HAS: has_name(c, f, x.node, x.negated); break;
    case LIT_MEMBER:
        has_name(c, f, x.node, false);
        f->members = prepend(c, f->members, (struct list){.node = x.node, .lit = x.sub});
        break;
    case LIT_SOME:
        f->types &= TYPE_OBJECT;
        f->some = prepend(c, f->some, (struct list){.node = x.node, .number = x.number, .lit = x.sub});
        break;
    case LIT_ITEM:
        f->types &= TYPE_ARRAY;
        bound(&f->min_items, x.number + 1, true);
        f->items = prepend(c, f->items, (struct list){.number = x.number, .lit = x.sub});
        break;
    case LIT_SOME_ITEM:
        f->types &= TYPE_ARRAY;
        bound(&f->min_items, x.number + 1, true);
        f->counts =
            prepend(c, f->counts, (struct list){.lit = x.sub, .number = 1, .most = UINT32_MAX, .from = x.number});
        break;
    case LIT_ALL_ITEMS: f->all_items = prepend(c, f->all_items, (struct list){.lit = x.sub}); break;
    case LIT_MIN_ITEMS: bound(&f->min_items, x.number, true); break;
    case LIT_MAX_ITEMS: bound(&f->max_items, x.number, false); break;
    case LIT_COUNT:
        f->counts = prepend(c, f->counts, (struct list){.lit = x.sub, .number = x.number, .most = x.most});
        break;
    }
    if (f->string == EXPR_NEVER) f->types &= ~(unsigned)TYPE_STRING;
    if (f->number == EXPR_NEVER) f->types &= ~(unsigned)TYPE_NUMBER;
    if (f->min_items > f->max_items) f->types &= ~(unsigned)TYPE_ARRAY;
    if (f->min_members > f->max_members) f->types &= ~(unsigned)TYPE_OBJECT;
}

static void add_form(struct context *c, struct forms *out, const struct form *f) {
    if (out->n == out->max) {
        const uint32_t max = out->max ? out->max * 2 : 4;
        struct form *const of = mem_realloc(out->of, max * sizeof *of);
        if (!of) return (void)schema_stop(c, RN_E_NOMEM, NULL, "out of memory");
        out->of = of, out->max = max;
    }
    if (out->n >= SCHEMA_MAX_FORMS)
        schema_stop(c, RN_E_LIMIT, NULL,
                    "a value has more than %d forms: fewer alternatives in anyOf, oneOf, not and if",
                    SCHEMA_MAX_FORMS);
    else
        out->of[out->n++] = *f;
}

// Certain conditions first, then the ways of one choice after the other: most of the ways are dropped at once.
static void expand(struct context *c, struct work w, struct form f, struct forms *out) {
    while (w.todo && f.types && schema_ok(c)) {
        const lit_id x = w.todo->lit;
        w.todo = w.todo->next;
        if (++c->n_steps > SCHEMA_MAX_STEPS)
            schema_stop(c, RN_E_LIMIT, NULL, "its alternatives have more than %d combinations", SCHEMA_MAX_STEPS);
        apply(c, &w, &f, x);
    }
    if (!f.types || !schema_ok(c)) return;
    if (!w.choices) return add_form(c, out, &f);
    const struct choice *const choice = w.choices;
    for (uint32_t i = 0; i < choice->n; i++) expand(c, (struct work){choice->ways[i], choice->next}, f, out);
}

bool schema_expand(struct context *c, const lit_id *lits, uint32_t n, struct forms *out) {
    struct work w = {0};
    *out = (struct forms){0};
    for (uint32_t i = n; i-- > 0;) also(c, &w, lits[i]);
    expand(c, w,
           (struct form){.types = TYPE_ALL,
                         .string = EXPR_ANY,
                         .number = EXPR_ANY,
                         .max_items = UINT64_MAX,
                         .max_members = UINT64_MAX},
           out);
    return schema_ok(c);
}
