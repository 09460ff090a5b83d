// grammar/schema/meaning_schemas.c - the keywords that put schemas together: allOf, anyOf, oneOf, not, if, $ref.
#include "grammar/schema/meaning.h"
#include <string.h>

static const struct json_node *schemas_of(struct making *m, const char *keyword) {
    const struct json_node *const v = json_member(m->x->node, keyword);
    return v && want_schemas(m->c, v) ? v : NULL;
}

// All schemas of a list hold, or none of them.
static void all_of(struct making *m, const struct json_node *list, bool none) {
    lit_id *const all = schema_alloc(m->c, (list->n_items + 1) * sizeof *all);
    if (!all) return;
    EACH (s, i, list) all[i] = none ? not_of(m->c, s) : schema_of(m->c, s);
    for (uint32_t i = list->n_items; i-- > 0;) also(m, all[i]);
}

// One schema of a list holds, or one does not.
static void some_of(struct making *m, const struct json_node *list, bool none) {
    struct ways ways = new_ways(m->c, list->n_items);
    EACH (s, i, list) add_way(m->c, &ways, (lit_id[]){none ? not_of(m->c, s) : schema_of(m->c, s)}, 1);
    struct choice *const choice = one_of(m, ways);
    if (choice) choice->is_any = !none;
}

void mean_all_of(struct making *m) {
    const struct json_node *const v = schemas_of(m, "allOf");
    if (v) (m->x->negated ? some_of : all_of)(m, v, m->x->negated);
}

void mean_any_of(struct making *m) {
    const struct json_node *const v = schemas_of(m, "anyOf");
    if (v) (m->x->negated ? all_of : some_of)(m, v, m->x->negated);
}

struct tag { // a member that every object of a schema has, with one string as its value; name NULL: none was found
    const struct json_node *name, *value;
};

static struct tag tag_of(struct context *c, const struct json_node *s) {
    enum { MAX_REFS = 8 };
    for (int i = 0; i < MAX_REFS && s && json_member(s, "$ref"); i++) s = schema_resolve(c, json_member(s, "$ref"));
    const struct json_node *const type = json_member(s, "type"), *const required = json_member(s, "required"),
                                  *const members = schema_part(s, "properties");
    if (!type || !json_is(type, "object") || !required || required->kind != JSON_ARRAY || !members)
        return (struct tag){0};
    EACH (name, i, required) {
        const struct json_node *const member = name->kind == JSON_STRING ? schema_find(members, name) : NULL,
                                      *const list = json_member(member, "enum"),
                                      *value = json_member(member, "const");
        if (list && list->kind == JSON_ARRAY && list->n_items == 1) value = json_first(list);
        if (value && value->kind == JSON_STRING) return (struct tag){name, value};
    }
    return (struct tag){0};
}

static bool differ(struct tag a, struct tag b) {
    return a.name && b.name && schema_same_name(a.name, b.name) &&
           (a.value->n_text != b.value->n_text || memcmp(a.value->text, b.value->text, a.value->n_text) != 0);
}

void mean_one_of(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = schemas_of(m, "oneOf");
    if (!v) return;
    const uint32_t n = v->n_items;
    lit_id *const all = schema_alloc(c, (n + 1) * 2 * sizeof *all), *const way = all + n + 1;
    if (!all) return;
    if (n > SCHEMA_MAX_FORMS) {
        schema_stop(c, RN_E_LIMIT, v, "%u alternatives: at most %d", n, SCHEMA_MAX_FORMS);
        return;
    }
    struct ways ways = new_ways(c, m->x->negated ? n * (n - (n > 0)) / 2 + 1 : n);
    struct tag *const tags = schema_alloc(c, (n + 1) * sizeof *tags);
    if (!tags) return;
    EACH (s, i, v) all[i] = schema_of(c, s), tags[i] = tag_of(c, s);
    if (m->x->negated) { // none, or two
        for (uint32_t i = 0; i < n; i++) way[i] = schema_not(all[i]);
        add_way(c, &ways, way, n);
    }
    for (uint32_t i = 0; i < n && schema_ok(c); i++) {
        uint32_t n_way = 0;
        way[n_way++] = all[i];
        for (uint32_t k = m->x->negated ? i + 1 : 0; k < n && schema_ok(c); k++) {
            if (k == i || differ(tags[i], tags[k]) || schema_never(c, (lit_id[]){all[i], all[k]}, 2)) continue;
            if (m->x->negated)
                add_way(c, &ways, (lit_id[]){all[i], all[k]}, 2);
            else
                way[n_way++] = schema_not(all[k]);
        }
        if (!m->x->negated) add_way(c, &ways, way, n_way);
    }
    one_of(m, ways);
}

void mean_not(struct making *m) {
    const struct json_node *const v = json_member(m->x->node, "not");
    if (v && want_schema(m->c, v)) also(m, m->x->negated ? schema_of(m->c, v) : not_of(m->c, v));
}

void mean_if(struct making *m) {
    struct context *const c = m->c;
    const struct json_node *const v = json_member(m->x->node, "if"), *const then = json_member(m->x->node, "then"),
                                  *const otherwise = json_member(m->x->node, "else");
    if (!v || !want_schema(c, v) || (then && !want_schema(c, then)) || (otherwise && !want_schema(c, otherwise)))
        return;
    struct ways ways = new_ways(c, 2);
    const lit_id yes = schema_of(c, v), no = schema_not(yes);
    if (!m->x->negated) { // without then and else it still evaluates members, for unevaluated*
        add_way(c, &ways, (lit_id[]){yes, then ? schema_of(c, then) : yes}, 2);
        add_way(c, &ways, (lit_id[]){no, otherwise ? schema_of(c, otherwise) : no}, 2);
    } else {
        if (then) add_way(c, &ways, (lit_id[]){yes, not_of(c, then)}, 2);
        if (otherwise) add_way(c, &ways, (lit_id[]){no, not_of(c, otherwise)}, 2);
    }
    one_of(m, ways);
}

void mean_ref(struct making *m) {
    lit_id all[3];
    uint32_t n = 0;
    EACH (k, i, m->x->node) {
        if (schema_group(k) != G_REF || n == 3) continue;
        const struct json_node *const to = schema_resolve(m->c, k);
        if (!to || !want_schema(m->c, to)) return;
        all[n++] = m->x->negated ? not_of(m->c, to) : schema_of(m->c, to);
    }
    struct ways ways = new_ways(m->c, n);
    for (uint32_t i = n; i-- > 0;) {
        if (m->x->negated && n > 1)
            add_way(m->c, &ways, &all[i], 1);
        else
            also(m, all[i]);
    }
    if (m->x->negated && n > 1) one_of(m, ways);
}
