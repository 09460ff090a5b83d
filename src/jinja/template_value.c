// jinja/template_value.c - creation of values by the caller; see template_value.h, and
// template_types.h for the representation.
#include "jinja/template_value.h"
#include "base/checked.h"
#include "jinja/template_types.h"

const tval tv_none = {.kind = TV_NONE}, tv_true = {.kind = TV_BOOL, .b = true}, tv_false = {.kind = TV_BOOL};
const tval tv_empty = {.kind = TV_STRING, .is_ascii = true, .str = {.s = ""}}, tv_nothing = {.kind = TV_UNDEFINED};

const struct template_value *template_none(void) { return &tv_none; }
const struct template_value *template_bool(bool b) { return tv_bool(b); }

static tval *new_value(struct arena *a, enum tv_kind kind) {
    tval *const v = arena_alloc(a, sizeof *v);
    if (v) v->kind = (uint8_t)kind;
    return v;
}

struct template_value *template_int(struct arena *a, int64_t i) {
    tval *const v = new_value(a, TV_INT);
    if (v) v->i = i;
    return v;
}

struct template_value *template_float(struct arena *a, double d) {
    tval *const v = new_value(a, TV_FLOAT);
    if (v) v->d = d;
    return v;
}

struct template_value *template_string(struct arena *a, const char *s, size_t n, bool is_markup) {
    tval *const v = new_value(a, TV_STRING);
    if (!v) return NULL;
    v->str = (struct tv_text){.s = n ? s : "", .n = n};
    v->is_content = !is_markup;
    v->is_ascii = tv_all_ascii(s, n);
    return v;
}

struct template_value *template_string_of_runs(struct arena *a, const char *s, size_t n,
                                               const struct template_run *runs, size_t n_runs) {
    size_t n_bytes;
    tval *const v = template_string(a, s, n, false);
    struct tv_runs *const made = arena_alloc(a, sizeof *made);
    if (!v || !made || !size_mul(n_runs, sizeof *made->run, &n_bytes)) return NULL;
    *made = (struct tv_runs){.run = arena_alloc(a, n_bytes), .n = n_runs};
    if (!made->run) return NULL;
    for (size_t i = 0; i < n_runs; i++) made->run[i] = (struct tv_run){runs[i].end, !runs[i].is_markup};
    v->str.runs = made;
    return v;
}

struct template_value *template_list(struct arena *a, size_t n_items) {
    size_t n_bytes;
    tval *const v = new_value(a, TV_LIST);
    if (!v || !size_mul(n_items, sizeof *v->seq.items, &n_bytes)) return NULL;
    v->seq.items = arena_alloc(a, n_bytes);
    v->seq.at = n_items;
    return v->seq.items ? v : NULL;
}

void template_list_add(struct template_value *list, const struct template_value *item) {
    if (list->seq.n < list->seq.at) list->seq.items[list->seq.n++] = item;
}

struct template_value *template_dict(struct arena *a, size_t n_items) {
    tval *const v = new_value(a, TV_DICT);
    if (v) v->dict = tv_dict_new(a, n_items);
    return v && v->dict ? v : NULL;
}

void template_dict_set(struct template_value *dict, const char *key, size_t n_key,
                       const struct template_value *value) {
    const tval k = {.kind = TV_STRING,
                    .is_content = true,
                    .is_ascii = tv_all_ascii(key, n_key),
                    .str = {.s = n_key ? key : "", .n = n_key}};
    tv_dict_put(dict->dict, &k, value);
}

const char *tv_type_name(const tval *v) {
    static const char *const names[N_TV_KINDS] = {
        [TV_UNDEFINED] = "Undefined", [TV_NONE] = "NoneType",       [TV_BOOL] = "bool",         [TV_INT] = "int",
        [TV_FLOAT] = "float",         [TV_STRING] = "str",          [TV_BYTES] = "bytes",       [TV_LIST] = "list",
        [TV_TUPLE] = "tuple",         [TV_DICT] = "dict",           [TV_VIEW] = "dict_items",   [TV_RANGE] = "range",
        [TV_ITERATOR] = "generator",  [TV_NAMESPACE] = "Namespace", [TV_FUNCTION] = "function", [TV_MACRO] = "Macro",
        [TV_LOOP] = "LoopContext",    [TV_CYCLER] = "Cycler",       [TV_JOINER] = "Joiner",
    };
    if (v->kind == TV_VIEW) return v->view == 'k' ? "dict_keys" : v->view == 'v' ? "dict_values" : "dict_items";
    return names[v->kind];
}

bool tv_all_ascii(const char *s, size_t n) {
    uint64_t high = 0, word;
    size_t i = 0;
    for (; n - i >= sizeof word; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        high |= word;
    }
    for (; i < n; i++) high |= (uint8_t)s[i];
    return (high & 0x8080808080808080u) == 0;
}
