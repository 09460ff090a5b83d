// jinja/template_filters_text.c - filters for text.
#include "jinja/py_chars.h"
#include "jinja/template_filters.h"
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

// Filters accept any value that can be converted to a string.
static const tval *recased(struct render *r, const tval *v, enum recase how) {
    const tval *const s = tr_str(r, v);
    return s ? tr_recase(r, s, how) : NULL;
}
static const tval *upper(struct render *r, const tval *v, const struct call *c) {
    return (void)c, recased(r, v, RECASE_UPPER);
}
static const tval *lower(struct render *r, const tval *v, const struct call *c) {
    return (void)c, recased(r, v, RECASE_LOWER);
}
static const tval *title(struct render *r, const tval *v, const struct call *c) {
    return (void)c, recased(r, v, RECASE_WORDS);
}
static const tval *capitalize(struct render *r, const tval *v, const struct call *c) {
    return (void)c, recased(r, v, RECASE_CAPITALIZE);
}
static const tval *string(struct render *r, const tval *v, const struct call *c) { return (void)c, tr_str(r, v); }

static const tval *trim(struct render *r, const tval *v, const struct call *c) {
    const tval *const chars = c->arg[0] && c->arg[0]->kind != TV_NONE ? arg_str(r, c, 0) : NULL;
    return r->st == RN_OK ? tr_strip(r, tr_str(r, v), chars, STRIP_LEFT | STRIP_RIGHT) : NULL;
}

static const tval *replace(struct render *r, const tval *v, const struct call *c) {
    const tval *const s = tr_str(r, v), *const old = s ? tr_str(r, c->arg[0]) : NULL;
    const tval *const new = old ? tr_str(r, c->arg[1]) : NULL;
    tv_int n = -1;
    if (!new || (c->arg[2] && c->arg[2]->kind != TV_NONE && !arg_int(r, c, 2, -1, &n))) return NULL;
    return tr_plain(r, tr_replace(r, s, old, new, n));
}

static const tval *center(struct render *r, const tval *v, const struct call *c) {
    const tval *const s = tr_str(r, v);
    size_t width;
    return s && arg_size(r, c, 0, 80, &width) ? tr_pad(r, s, width, NULL, '^') : NULL;
}

static const tval *join(struct render *r, const tval *v, const struct call *c) {
    const tval *const separator = c->arg[0] ? tr_str(r, c->arg[0]) : &tv_empty;
    if (!separator) return NULL;
    if (c->arg[1] && c->arg[1]->kind != TV_NONE) {
        tval *const items = tr_new_list_of(r, v);
        for (size_t i = 0; items && i < items->seq.n; i++)
            if (!(items->seq.items[i] = filter_attribute(r, items->seq.items[i], c->arg[1], NULL, false)))
                return NULL;
        v = items;
    }
    return v ? tr_join(r, separator, v, false) : NULL;
}

static const tval *reverse(struct render *r, const tval *v, const struct call *c) {
    (void)c;
    if (tv_is_str(v)) return tr_reversed(r, v);
    tval *const items = tr_new_list_of(r, v);
    if (!items) return NULL;
    for (size_t i = 0, k = items->seq.n; i + 1 < k; i++) {
        const tval *const x = items->seq.items[i];
        items->seq.items[i] = items->seq.items[--k];
        items->seq.items[k] = x;
    }
    return v->kind == TV_ITERATOR ? items : tr_iterator(r, items);
}

static const tval *format(struct render *r, const tval *v, const struct call *c) {
    const tval *const s = tr_str(r, v);
    if (!s) return NULL;
    if (c->n_pos > 0 && c->n_named > 0)
        return tr_raise(r, "FilterArgumentError", "format: values by position and by name are mixed");
    tval *const values = c->n_named > 0 ? tr_dict(r, c->n_named) : tr_items(r, TV_TUPLE, c->n_pos);
    for (size_t i = 0; values && i < c->n_pos; i++)
        if (!tr_push(r, values, c->pos[i])) return NULL;
    for (size_t i = 0; values && i < c->n_named; i++)
        if (!tr_dict_set(r, values, c->names[i], c->named[i])) return NULL;
    return values ? tr_percent_format(r, s, values) : NULL;
}

static const tval *wordcount(struct render *r, const tval *v, const struct call *c) {
    const tval *const s = tr_str(r, v);
    size_t n = 0;
    bool in_word = false;
    int len;
    (void)c;
    if (!s || !tr_work(r, s->str.n / 4)) return NULL;
    for (size_t i = 0; i < s->str.n; i += (size_t)len) {
        const bool is_word = py_is(PY_WORD, py_char(s->str.s + i, s->str.n - i, &len));
        n += is_word && !in_word;
        in_word = is_word;
    }
    return tr_size(r, n);
}

// Parameters: width (a number or a string), first, blank.
static const tval *indent(struct render *r, const tval *v, const struct call *c) {
    size_t n_spaces = 4;
    const bool is_text = c->arg[0] && tv_is_str(c->arg[0]), first = arg_truth(c, 1), blank = arg_truth(c, 2);
    const tval *const by = is_text ? c->arg[0] : &format_space;
    if (v->kind == TV_UNDEFINED) return tr_undefined_used(r, v);
    if (!tv_is_str(v)) return tr_raise(r, "TypeError", "indent: '%s' is not a string", tv_type_name(v));
    if (!is_text && !arg_size(r, c, 0, 4, &n_spaces)) return NULL;
    if (is_text) n_spaces = 1;
    const tval *const lines = tr_splitlines(r, v, false);
    if (!lines) return NULL;
    const size_t begin = tr_begin(r);
    if (first) tr_put_times(r, by, n_spaces);
    // Jinja appends a newline before it splits the text into lines, so a text that ends with a
    // newline gets one more, empty line.
    const bool ends_line = v->str.n == 0 || v->str.s[v->str.n - 1] == '\n';
    const size_t n_lines = lines->seq.n + (ends_line && (v->str.n > 0 || lines->seq.n == 0));
    for (size_t i = 0; i < n_lines && tr_work(r, 1); i++) {
        const tval *const line = i < lines->seq.n ? lines->seq.items[i] : &tv_empty;
        if (i > 0 && !tr_put(r, "\n", 1, false)) break;
        if (i > 0 && (blank || line->str.n > 0) && !tr_put_times(r, by, n_spaces)) break;
        if (!tr_put_str(r, line)) break;
    }
    return tr_like(r, tr_cut(r, begin), v);
}

// Parameters: length, killwords, end, leeway.
static const tval *truncate(struct render *r, const tval *v, const struct call *c) {
    static const tval dots = {.kind = TV_STRING, .is_ascii = true, .str = {.s = "...", .n = 3}};
    const tval *const end = c->arg[2] ? arg_str(r, c, 2) : &dots;
    size_t n, length, leeway = 5;
    if (!end || !arg_size(r, c, 0, 255, &length) || !tr_length(r, v, &n)) return NULL;
    if (c->arg[3] && c->arg[3]->kind != TV_NONE && !arg_size(r, c, 3, 5, &leeway)) return NULL;
    const size_t n_end = tv_count_chars(end);
    if (length < n_end)
        return tr_raise(r, "AssertionError", "truncate: a length of at least %zu is needed, not %zu", n_end, length);
    if (n <= length + leeway) return v;
    if (!tv_is_str(v)) return tr_raise(r, "TypeError", "truncate: '%s' is not a string", tv_type_name(v));
    size_t to = py_byte_of(v->str.s, v->str.n, length - n_end);
    if (!arg_truth(c, 1)) {
        size_t space = to;
        while (space > 0 && v->str.s[space - 1] != ' ') space--;
        if (space > 0) to = space - 1;
    }
    const tval *const cut = tr_part(r, v, 0, to);
    return cut ? tr_concat(r, cut, end) : NULL;
}

static const struct builtin rows[] = {
    {"upper", upper, "", 0, 0},
    {"lower", lower, "", 0, 0},
    {"title", title, "", 0, 0},
    {"capitalize", capitalize, "", 0, 0},
    {"string", string, "", 0, 0},
    {"trim", trim, "chars", 0, 0},
    {"replace", replace, "old,new,count", 2, 0},
    {"center", center, "width", 0, 0},
    {"join", join, "d,attribute", 0, 0},
    {"reverse", reverse, "", 0, 0},
    {"format", format, "", 0, B_ANY},
    {"wordcount", wordcount, "", 0, 0},
    {"wordwrap", filter_wordwrap, "width,break_long_words,wrapstring,break_on_hyphens", 0, 0},
    {"indent", indent, "width,first,blank", 0, 0},
    {"truncate", truncate, "length,killwords,end,leeway", 0, 0},
    {"tojson", filter_tojson, "ensure_ascii,indent,separators,sort_keys", 0, 0},
    {"pprint", NULL, "", 0, B_NOT_RUN},
};
const struct builtin_table filters_of_text = {rows, sizeof rows / sizeof *rows};
