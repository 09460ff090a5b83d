// grammar/schema/declared.c - see declared.h.
#include "grammar/schema/declared.h"
#include "grammar/schema/schema.h"
#include <string.h>

enum {
    MAX_DEPTH = 16,       // of schemas that are followed
    MAX_LOOKED_AT = 16384 // members and items of one question: schemas that refer to themselves multiply
};

struct question {
    const struct json_node *root;
    size_t n_looked_at;
};

static const struct json_node *member_at(const struct json_node *object, const char *name, size_t n) {
    if (!object || object->kind != JSON_OBJECT) return NULL;
    const struct json_node *v = json_first(object);
    for (uint32_t i = 0; i < object->n_items; i++, v = json_next(v))
        if (v->n_name == n && memcmp(v->name, name, n) == 0) return v;
    return NULL;
}

static const struct json_node *item_at(const struct json_node *list, const char *index, size_t n) {
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (index[i] < '0' || index[i] > '9' || at > UINT32_MAX / 20) return NULL;
        at = at * 10 + (uint32_t)(index[i] - '0');
    }
    if (n == 0 || at >= list->n_items) return NULL;
    const struct json_node *v = json_first(list);
    while (at-- > 0) v = json_next(v);
    return v;
}

// Addresses below it are relative to another document than the root.
static bool has_address(const struct json_node *root, const struct json_node *schema) {
    return schema != root && (json_member(schema, "$id") || json_member(schema, "id"));
}

// A JSON pointer without escapes.
static const struct json_node *at_pointer(struct question *q, const char *s, size_t n) {
    const struct json_node *at = q->root;
    for (size_t i = 0; i < n && at && !has_address(q->root, at);) {
        if (s[i++] != '/') return NULL;
        q->n_looked_at += at->n_items;
        const size_t from = i;
        while (i < n && s[i] != '/') {
            if (s[i] == '~' || s[i] == '%') return NULL;
            i++;
        }
        at = at->kind == JSON_ARRAY ? item_at(at, s + from, i - from) : member_at(at, s + from, i - from);
    }
    return at;
}

// Behind its references; NULL: they are not followed.
static const struct json_node *resolve(struct question *q, const struct json_node *schema) {
    for (int i = 0; i < MAX_DEPTH && schema && q->n_looked_at <= MAX_LOOKED_AT; i++) {
        q->n_looked_at += schema->n_items + 1;
        const struct json_node *const ref = json_member(schema, "$ref");
        if (schema->kind != JSON_OBJECT || has_address(q->root, schema)) return NULL;
        if (!ref) return schema;
        if (ref->kind != JSON_STRING || ref->n_text == 0 || ref->text[0] != '#') return NULL;
        schema = at_pointer(q, ref->text + 1, ref->n_text - 1);
    }
    return NULL;
}

const struct json_node *schema_declared_member(const struct json_node *root, const struct json_node *schema,
                                               const char *name, size_t n) {
    const struct json_node *const s = resolve(&(struct question){root, 0}, schema);
    const struct json_node *const found = member_at(json_member(s, "properties"), name, n);
    const struct json_node *const patterns = json_member(s, "patternProperties");
    if (found) return found;
    return patterns && patterns->n_items > 0 ? NULL : json_member(s, "additionalProperties");
}

const struct json_node *schema_declared_items(const struct json_node *root, const struct json_node *schema) {
    const struct json_node *const s = resolve(&(struct question){root, 0}, schema);
    return json_member(s, "prefixItems") ? NULL : json_member(s, "items");
}

static unsigned type_of(const struct json_node *value) {
    static const unsigned types[] = {
        [JSON_NULL] = TYPE_NULL,     [JSON_FALSE] = TYPE_FALSE,   [JSON_TRUE] = TYPE_TRUE,
        [JSON_NUMBER] = TYPE_NUMBER, [JSON_STRING] = TYPE_STRING, [JSON_ARRAY] = TYPE_ARRAY,
        [JSON_OBJECT] = TYPE_OBJECT};
    return types[value->kind];
}

static unsigned type_named(const struct json_node *name) {
    static const struct {
        const char *name;
        unsigned types;
    } types[] = {{"null", TYPE_NULL},     {"boolean", TYPE_FALSE | TYPE_TRUE},
                 {"number", TYPE_NUMBER}, {"integer", TYPE_NUMBER},
                 {"string", TYPE_STRING}, {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is(name, types[i].name)) return types[i].types;
    return TYPE_ALL;
}

static unsigned types_of(struct question *q, const struct json_node *schema, int depth);

// Of any of a list of schemas, names or values.
enum list_of { SCHEMAS, NAMES, VALUES };
static unsigned types_of_any(struct question *q, const struct json_node *list, enum list_of what, int depth) {
    unsigned types = 0;
    const struct json_node *v = list ? json_first(list) : NULL;
    if (!list || list->kind != JSON_ARRAY || list->n_items == 0) return TYPE_ALL;
    q->n_looked_at += list->n_items;
    for (uint32_t i = 0; i < list->n_items && types != TYPE_ALL; i++, v = json_next(v))
        types |= what == SCHEMAS ? types_of(q, v, depth + 1) : what == NAMES ? type_named(v) : type_of(v);
    return types;
}

static unsigned types_of(struct question *q, const struct json_node *schema, int depth) {
    const struct json_node *const s = depth < MAX_DEPTH ? resolve(q, schema) : NULL;
    if (!s) return TYPE_ALL;
    const struct json_node *const type = json_member(s, "type"), *const value = json_member(s, "const"),
                                  *const all = json_member(s, "allOf");
    unsigned types = type && type->kind == JSON_STRING ? type_named(type) : types_of_any(q, type, NAMES, depth);
    if (value) types &= type_of(value);
    types &= types_of_any(q, json_member(s, "enum"), VALUES, depth);
    types &= types_of_any(q, json_member(s, "anyOf"), SCHEMAS, depth);
    types &= types_of_any(q, json_member(s, "oneOf"), SCHEMAS, depth);
    if (all && all->kind == JSON_ARRAY) {
        const struct json_node *v = json_first(all);
        q->n_looked_at += all->n_items;
        for (uint32_t i = 0; i < all->n_items; i++, v = json_next(v)) types &= types_of(q, v, depth + 1);
    }
    return types;
}

unsigned schema_declared_types(const struct json_node *root, const struct json_node *schema) {
    return types_of(&(struct question){root, 0}, schema, 0);
}
