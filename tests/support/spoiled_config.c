// tests/support/spoiled_config.c - see spoiled_config.h.
#include "tests/support/spoiled_config.h"
#include "tests/check.h"

#define N(rows) (sizeof(rows) / sizeof *(rows))

static json_t *hostile(size_t i) {
    static const char *const texts[] = {
        "0",    "1",     "-1",   "2",  "3",   "2147483647", "4294967296", "0.5",     "1e300",         "-1e300",
        "null", "false", "true", "[]", "[1]", "{}",         "\"x\"",      "\"NaN\"", "[\"x\", \"x\"]"};
    return i < N(texts) ? json_loads(texts[i], JSON_DECODE_ANY, NULL) : NULL;
}

// A list with each of its items spoiled.
static void spoil_items(const struct spoiling *s, json_t *object, const char *name, json_t *before) {
    for (size_t item = 0; item < json_array_size(before); item++) {
        json_t *spoiled;
        for (size_t i = 0; (spoiled = hostile(i)); i++) {
            json_t *list = json_copy(before);
            json_array_set_new(list, item, spoiled);
            json_object_set_new(object, name, list);
            s->use(s->user, s->config);
        }
    }
}

static void spoil_members(const struct spoiling *s, json_t *object) {
    json_t *names = json_array(), *v;
    const char *name;
    json_object_foreach(object, name, v) json_array_append_new(names, json_string(name));
    for (size_t k = 0; k < json_array_size(names); k++) {
        name = json_string_value(json_array_get(names, k));
        json_t *before = json_incref(json_object_get(object, name)), *spoiled;
        check_note("%s: %s", s->what, name);
        for (size_t i = 0; (spoiled = hostile(i)); i++) {
            json_object_set_new(object, name, spoiled);
            s->use(s->user, s->config);
        }
        if (json_is_array(before)) spoil_items(s, object, name, before);
        json_object_del(object, name);
        s->use(s->user, s->config);
        json_object_set_new(object, name, before);
        if (json_is_object(before)) spoil_members(s, before);
    }
    json_decref(names);
}

void spoil_each_member(const struct spoiling *s) { spoil_members(s, s->config); }
