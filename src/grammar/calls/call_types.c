// grammar/calls/call_types.c - see call_types.h.
#include "grammar/calls/call_types.h"
#include "grammar/schema/declared.h"
#include "grammar/schema/schema.h"
#include <string.h>

static struct output_place arguments_of(const void *user, const char *tool, size_t n) {
    const struct json_tree *const list = user;
    const struct json_node *item = json_first(list->nodes);
    for (uint32_t i = 0; i < list->nodes->n_items; i++, item = json_next(item)) {
        const struct json_node *const inner = json_member(item, "function"), *const f = inner ? inner : item;
        const struct json_node *const name = json_member(f, "name");
        if (!name || name->kind != JSON_STRING || name->n_text != n || memcmp(name->text, tool, n) != 0) continue;
        const struct json_node *const parameters = json_member(f, "parameters");
        return (struct output_place){parameters, parameters};
    }
    return (struct output_place){0};
}

static struct output_place part_of(struct output_place of, const char *name, size_t n) {
    of.at = name ? schema_declared_member(of.root, of.at, name, n) : schema_declared_items(of.root, of.at);
    return of;
}

static unsigned types_at(struct output_place at) {
    static const struct {
        unsigned value, output;
    } types[] = {{TYPE_NULL, OUTPUT_NULL},     {TYPE_FALSE | TYPE_TRUE, OUTPUT_BOOLEAN},
                 {TYPE_NUMBER, OUTPUT_NUMBER}, {TYPE_STRING, OUTPUT_STRING},
                 {TYPE_ARRAY, OUTPUT_LIST},    {TYPE_OBJECT, OUTPUT_OBJECT}};
    const unsigned declared = schema_declared_types(at.root, at.at);
    unsigned all = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (declared & types[i].value) all |= types[i].output;
    return all;
}

struct output_tools call_types(const struct json_tree *list) {
    return (struct output_tools){list, arguments_of, part_of, types_at};
}
