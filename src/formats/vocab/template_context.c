// formats/vocab/template_context.c - see template_context.h.
#include "formats/vocab/template_context.h"
#include "formats/json/json_tree.h"
#include "jinja/py_numbers.h"
#include "jinja/template_types.h"
#include <string.h>

const char *const template_token_names[] = {"bos_token", "eos_token", "unk_token",  "pad_token",
                                            "sep_token", "cls_token", "mask_token", NULL};

struct builder {
    const char *json; // NULL: the tree outlives the values
    size_t n;
    struct arena *into;
    rn_error *err;
};

static rn_status no_memory(const struct builder *b) { return fail(b->err, RN_E_NOMEM, "variables: out of memory"); }

// Returns the string itself if it lies in the JSON text. A string with escapes lies in the tree,
// which is freed, so it is copied.
static const char *kept(const struct builder *b, const char *s, uint32_t n) {
    const bool in_json = !b->json || (s >= b->json && s <= b->json + b->n);
    return in_json ? s : arena_strndup(b->into, s, n);
}

static rn_status build_number(const struct builder *b, const struct json_node *v, const struct template_value **out) {
    const int n_shown = v->n_text < 64 ? (int)v->n_text : 64;
    const bool is_float =
        memchr(v->text, '.', v->n_text) || memchr(v->text, 'e', v->n_text) || memchr(v->text, 'E', v->n_text);
    double d = 0;
    tv_int i = 0;
    const bool ok =
        is_float ? py_parse_float(v->text, v->n_text, &d) : py_parse_int(v->text, v->n_text, 10, &i) == PY_PARSED;
    if (!ok)
        return fail(b->err, RN_E_LIMIT, "variables: the number %.*s... is beyond 127 bits or 512 characters", n_shown,
                    v->text);
    struct template_value *const made = is_float ? template_float(b->into, d) : template_int(b->into, 0);
    if (made && !is_float) made->i = i;
    *out = made;
    return made ? RN_OK : no_memory(b);
}

// Recursive; json_read() bounds the depth.
static rn_status build(const struct builder *b, const struct json_node *v, bool is_markup,
                       const struct template_value **out);

static rn_status build_list(const struct builder *b, const struct json_node *v, bool is_markup,
                            const struct template_value **out) {
    struct template_value *const list = template_list(b->into, v->n_items);
    const struct json_node *item = json_first(v);
    rn_status st = list ? RN_OK : no_memory(b);
    for (uint32_t i = 0; st == RN_OK && i < v->n_items; i++, item = json_next(item)) {
        const struct template_value *made = NULL;
        st = build(b, item, is_markup, &made);
        if (st == RN_OK) template_list_add(list, made);
    }
    *out = list;
    return st;
}

static bool is_named(const char *const *names, const struct json_node *v) {
    for (; names && *names; names++)
        if (strlen(*names) == v->n_name && memcmp(*names, v->name, v->n_name) == 0) return true;
    return false;
}

// markup: names of members whose strings are markup, including strings nested in them.
static rn_status build_dict(const struct builder *b, const struct json_node *v, const char *const *markup,
                            bool is_markup, const struct template_value **out) {
    struct template_value *const dict = template_dict(b->into, v->n_items);
    const struct json_node *member = json_first(v);
    rn_status st = dict ? RN_OK : no_memory(b);
    for (uint32_t i = 0; st == RN_OK && i < v->n_items; i++, member = json_next(member)) {
        const struct template_value *made = NULL;
        const char *const name = kept(b, member->name, member->n_name);
        st = name ? build(b, member, is_markup || is_named(markup, member), &made) : no_memory(b);
        if (st == RN_OK) template_dict_set(dict, name, member->n_name, made);
    }
    *out = dict;
    return st;
}

static rn_status build(const struct builder *b, const struct json_node *v, bool is_markup,
                       const struct template_value **out) {
    switch (v->kind) {
    case JSON_NULL: return *out = template_none(), RN_OK;
    case JSON_FALSE:
    case JSON_TRUE: return *out = template_bool(v->kind == JSON_TRUE), RN_OK;
    case JSON_NUMBER: return build_number(b, v, out);
    case JSON_ARRAY: return build_list(b, v, is_markup, out);
    case JSON_OBJECT: return build_dict(b, v, NULL, is_markup, out);
    case JSON_STRING: break;
    }
    const char *const s = kept(b, v->text, v->n_text);
    *out = s ? template_string(b->into, s, v->n_text, is_markup) : NULL;
    return *out ? RN_OK : no_memory(b);
}

rn_status template_context_read(const char *json, size_t n, const char *const *markup, struct arena *a,
                                const struct template_value **out, rn_error *err) {
    const struct builder b = {.json = json, .n = n, .into = a, .err = err};
    struct json_tree tree = {0};
    *out = NULL;
    rn_status st = json_read(&tree, json, n, err);
    if (st == RN_OK && tree.nodes[0].kind != JSON_OBJECT)
        st = fail(err, RN_E_FORMAT, "variables: are %s, must be an object", json_kind_name(&tree.nodes[0]));
    if (st == RN_OK) st = build_dict(&b, &tree.nodes[0], markup, false, out);
    json_free(&tree);
    if (st != RN_OK) *out = NULL;
    return st;
}

rn_status template_value_read(const struct json_node *v, bool is_markup, struct arena *a,
                              const struct template_value **out, rn_error *err) {
    return build(&(struct builder){.into = a, .err = err}, v, is_markup, out);
}
