// jinja/template_methods_search.c - string methods: find, count, startswith and endswith, replace.
#include "jinja/py_chars.h"
#include "jinja/template_format.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

// Converts the character range given by arguments `first` and `first` + 1 to bytes. *to < *from: an
// invalid range, in which not even an empty string is found. false: error.
static bool stretch(struct render *r, const tval *s, const struct call *c, int first, size_t *from, size_t *to) {
    struct tv_stride g;
    size_t n;
    *from = 0;
    *to = s->str.n;
    if (!c->arg[first] && !c->arg[first + 1]) return true;
    if (!tr_length(r, s, &n) || !tr_stride(r, n, c->arg[first], c->arg[first + 1], NULL, &g)) return false;
    const bool beyond = c->arg[first] && tv_is_whole(c->arg[first]) && tv_whole(c->arg[first]) > (tv_int)n;
    *from = py_byte_of(s->str.s, s->str.n, (size_t)g.start);
    *to = *from + py_byte_of(s->str.s + *from, s->str.n - *from, (size_t)g.n);
    if (beyond) *from = 1, *to = 0;
    if (g.n == 0 && !beyond && c->arg[first + 1]) { // does the range end before it begins?
        struct tv_stride end;
        if (!tr_stride(r, n, NULL, c->arg[first + 1], NULL, &end)) return false;
        if (end.n < g.start) *from = 1, *to = 0;
    }
    return true;
}

static const char *find_last(const char *s, size_t n, const tval *what) {
    for (size_t at = n + 1; what->str.n <= n && at > 0; at--)
        if (n - (at - 1) >= what->str.n && memcmp(s + at - 1, what->str.s, what->str.n) == 0) return s + at - 1;
    return NULL;
}

// Sets *out to the index of the character where it is found, -1: not found. false: error.
static bool find(struct render *r, const tval *s, const struct call *c, bool last, tv_int *out) {
    size_t from, to;
    const tval *const what = arg_str(r, c, 0);
    *out = -1;
    if (!what || !stretch(r, s, c, 1, &from, &to) || !tr_work(r, s->str.n / (last ? 4 : 32))) return false;
    if (to < from) return true;
    const char *const in = s->str.s + from;
    const char *const hit = last ? find_last(in, to - from, what) : memmem(in, to - from, what->str.s, what->str.n);
    if (!hit) return true;
    const size_t at = (size_t)(hit - s->str.s);
    *out = (tv_int)(s->is_ascii ? at : py_count_chars(s->str.s, at));
    return true;
}

static const tval *find_first_(struct render *r, const tval *s, const struct call *c) {
    tv_int at;
    return find(r, s, c, false, &at) ? tr_int(r, at) : NULL;
}
static const tval *find_last_(struct render *r, const tval *s, const struct call *c) {
    tv_int at;
    return find(r, s, c, true, &at) ? tr_int(r, at) : NULL;
}

static const tval *must_find(struct render *r, const tval *s, const struct call *c, bool last) {
    tv_int at;
    if (!find(r, s, c, last, &at)) return NULL;
    return at < 0 ? tr_raise(r, "ValueError", "%s(): it is not found", c->row->name) : tr_int(r, at);
}
static const tval *index_first(struct render *r, const tval *s, const struct call *c) {
    return must_find(r, s, c, false);
}
static const tval *index_last(struct render *r, const tval *s, const struct call *c) {
    return must_find(r, s, c, true);
}

static const tval *count(struct render *r, const tval *s, const struct call *c) {
    size_t from, to, n = 0;
    const tval *const what = arg_str(r, c, 0);
    if (!what || !stretch(r, s, c, 1, &from, &to) || !tr_work_bytes(r, s->str.n)) return NULL;
    if (to < from) return tr_int(r, 0);
    if (what->str.n == 0) return tr_size(r, py_count_chars(s->str.s + from, to - from) + 1);
    for (const char *hit; (hit = memmem(s->str.s + from, to - from, what->str.s, what->str.n)); n++) {
        if (!tr_work(r, 1)) return NULL;
        from = (size_t)(hit - s->str.s) + what->str.n;
    }
    return tr_size(r, n);
}

// ---- startswith, endswith -----------------------------------------------------------------------

static bool has_at(const tval *s, size_t from, size_t to, const tval *part, bool at_end) {
    const size_t n = part->str.n;
    if (to < from || n > to - from) return false;
    return memcmp(s->str.s + (at_end ? to - n : from), part->str.s, n) == 0;
}

static const tval *has_end(struct render *r, const tval *s, const struct call *c, bool at_end) {
    const tval *const what = c->arg[0];
    size_t from, to;
    bool any = false;
    if (!stretch(r, s, c, 1, &from, &to)) return NULL;
    if (what->kind != TV_TUPLE) return arg_str(r, c, 0) ? tv_bool(has_at(s, from, to, what, at_end)) : NULL;
    for (size_t i = 0; !any && i < what->seq.n; i++) {
        const tval *const part = what->seq.items[i];
        if (!tv_is_str(part))
            return tr_raise(r, "TypeError", "%s(): '%s' is not a string", c->row->name, tv_type_name(part));
        any = has_at(s, from, to, part, at_end);
    }
    return tr_work(r, what->seq.n) ? tv_bool(any) : NULL;
}
static const tval *startswith(struct render *r, const tval *s, const struct call *c) {
    return has_end(r, s, c, false);
}
static const tval *endswith(struct render *r, const tval *s, const struct call *c) { return has_end(r, s, c, true); }

static const tval *removeprefix(struct render *r, const tval *s, const struct call *c) {
    if (!arg_str(r, c, 0)) return NULL;
    return has_at(s, 0, s->str.n, c->arg[0], false) ? tr_part(r, s, c->arg[0]->str.n, s->str.n) : s;
}
static const tval *removesuffix(struct render *r, const tval *s, const struct call *c) {
    if (!arg_str(r, c, 0)) return NULL;
    return has_at(s, 0, s->str.n, c->arg[0], true) ? tr_part(r, s, 0, s->str.n - c->arg[0]->str.n) : s;
}

// ---- replace and similar ------------------------------------------------------------------------

static const tval *replace(struct render *r, const tval *s, const struct call *c) {
    tv_int n;
    if (!arg_str(r, c, 0) || !arg_str(r, c, 1) || !arg_int(r, c, 2, -1, &n)) return NULL;
    return tr_replace(r, s, c->arg[0], c->arg[1], n);
}

static const tval *format(struct render *r, const tval *s, const struct call *c) { return tr_brace_format(r, s, c); }

static const tval *format_map(struct render *r, const tval *s, const struct call *c) {
    const tval *const map = c->arg[0];
    if (map->kind != TV_DICT) return tr_raise(r, "TypeError", "format_map() takes a dictionary");
    const size_t n = map->dict->n;
    struct call values = {.names = tr_alloc(r, n, sizeof(tval *)), .named = tr_alloc(r, n, sizeof(tval *))};
    if (!values.names || !values.named) return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!tv_is_str(&map->dict->entries[i].key)) continue; // fields are named by strings
        values.names[values.n_named] = &map->dict->entries[i].key;
        values.named[values.n_named++] = map->dict->entries[i].value;
    }
    return tr_brace_format(r, s, &values);
}

static const tval *encode(struct render *r, const tval *s, const struct call *c) {
    if (c->arg[0] && !tv_str_is(c->arg[0], "utf-8") && !tv_str_is(c->arg[0], "utf8") &&
        !tv_str_is(c->arg[0], "UTF-8"))
        return tr_unsupported(r, "encode() to other than utf-8 is not supported");
    tval *const v = tr_new(r, TV_BYTES);
    if (!v) return NULL;
    *v = *s;
    v->kind = TV_BYTES;
    v->is_html = false;
    v->is_content = tv_any_content(s);
    v->str.runs = NULL;
    return v;
}

static const struct builtin rows[] = {
    {"find", find_first_, "sub,start,end", 1, B_POSITIONAL},
    {"rfind", find_last_, "sub,start,end", 1, B_POSITIONAL},
    {"index", index_first, "sub,start,end", 1, B_POSITIONAL},
    {"rindex", index_last, "sub,start,end", 1, B_POSITIONAL},
    {"count", count, "sub,start,end", 1, B_POSITIONAL},
    {"startswith", startswith, "prefix,start,end", 1, B_POSITIONAL},
    {"endswith", endswith, "suffix,start,end", 1, B_POSITIONAL},
    {"removeprefix", removeprefix, "prefix", 1, B_POSITIONAL},
    {"removesuffix", removesuffix, "suffix", 1, B_POSITIONAL},
    {"replace", replace, "old,new,count", 2, B_POSITIONAL},
    {"format", format, "", 0, B_ANY},
    {"format_map", format_map, "mapping", 1, B_POSITIONAL},
    {"encode", encode, "encoding,errors", 0, 0},
    {"translate", NULL, "", 0, B_NOT_RUN},
    {"maketrans", NULL, "", 0, B_NOT_RUN},
};
const struct builtin_table methods_of_search = {rows, sizeof rows / sizeof *rows};
