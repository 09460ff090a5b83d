// grammar/schema/nothing.c - see schema.h: which part of a schema to look at where nothing matches it.
#include "base/mem.h"
#include "grammar/schema/context.h"
#include <string.h>

enum { MAX_PARTS = 256 };

struct parts { // of a schema, that its values have to satisfy
    const struct json_node *of[MAX_PARTS];
    uint32_t n;
};

static void add(struct parts *p, const struct json_node *schema) {
    if (schema && p->n < MAX_PARTS) p->of[p->n++] = schema;
}

static bool is_positive(const struct json_node *v) {
    return v && v->kind == JSON_NUMBER && v->n_text > 0 && v->text[0] > '0' && v->text[0] <= '9';
}

static void find_parts(struct context *c, const struct json_node *s, struct parts *p) {
    const struct json_node *const all = json_member(s, "allOf"), *const required = json_member(s, "required"),
                                  *const ref = json_member(s, "$ref"), *const members = schema_part(s, "properties");
    if (all && all->kind == JSON_ARRAY)
        EACH (v, i, all) add(p, v);
    if (ref && ref->kind == JSON_STRING) add(p, schema_resolve(c, ref));
    if (required && required->kind == JSON_ARRAY)
        EACH (name, i, required)
            if (name->kind == JSON_STRING) add(p, schema_find(members, name));
    if (!is_positive(json_member(s, "minItems"))) return;
    const struct json_node *const first = schema_first_items(s), *const other = schema_other_items(s);
    add(p, first && first->kind == JSON_ARRAY && first->n_items ? json_first(first) : other);
}

const struct json_node *schema_blame(const struct json_tree *t, schema_matches_nothing *ask, void *user) {
    enum { MAX_DEPTH = 64 };
    struct context c = {.root = &t->nodes[0]};
    const struct json_node *at = c.root;
    bool goes_on = schema_find_resources(&c);
    const struct json_node *way[MAX_DEPTH];
    for (uint32_t depth = 0; goes_on && depth < MAX_DEPTH; depth++) {
        struct parts parts = {.n = 0};
        if (at->kind == JSON_OBJECT) find_parts(&c, at, &parts);
        way[depth] = at, goes_on = false;
        for (uint32_t i = 0; i < parts.n && !goes_on; i++) {
            bool is_passed = false;
            for (uint32_t k = 0; k <= depth; k++) is_passed |= way[k] == parts.of[i];
            if (!is_passed && ask(user, parts.of[i])) at = parts.of[i], goes_on = true;
        }
    }
    arena_free(&c.arena);
    mem_free(c.resources), mem_free(c.anchors);
    return at;
}
