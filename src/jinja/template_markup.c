// jinja/template_markup.c - HTML escaping and the filters that use it; see template_markup.h.
#include "jinja/template_markup.h"
#include "jinja/py_chars.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

// ---- escaping -----------------------------------------------------------------------------------

static const char *entity_of(char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&#34;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

// Writes a string with its characters escaped, Markup or not.
static bool put_escaped(struct render *r, const tval *s) {
    size_t plain = 0, unused;
    for (size_t i = 0; i < s->str.n; i++) {
        const char *const entity = entity_of(s->str.s[i]);
        if (!entity) continue;
        if (!tr_work(r, 1) || !tr_put_part(r, s, plain, i)) return false;
        if (!tr_put(r, entity, strlen(entity), tv_is_content(s, i, &unused))) return false;
        plain = i + 1;
    }
    return tr_work_bytes(r, s->str.n) && tr_put_part(r, s, plain, s->str.n);
}

const tval *tr_marked_safe(struct render *r, const tval *s) {
    if (!s || s->is_html) return s;
    tval *const v = tr_new(r, TV_STRING);
    if (!v) return NULL;
    *v = *s;
    v->is_html = true;
    return v;
}

const tval *tr_escaped(struct render *r, const tval *v) {
    const tval *const s = tr_str(r, v);
    if (!s || s->is_html) return s;
    const size_t begin = tr_begin(r);
    put_escaped(r, s);
    return tr_marked_safe(r, tr_cut(r, begin));
}

static const tval *escape(struct render *r, const tval *v, const struct call *c) { return (void)c, tr_escaped(r, v); }

static const tval *forceescape(struct render *r, const tval *v, const struct call *c) {
    const tval *const s = tr_str(r, v);
    (void)c;
    return s ? tr_escaped(r, tr_plain(r, s)) : NULL;
}

static const tval *safe(struct render *r, const tval *v, const struct call *c) {
    (void)c;
    return tr_marked_safe(r, tr_str(r, v));
}

// ---- striptags ----------------------------------------------------------------------------------

// Returns the position after the tag or comment at `at`; SIZE_MAX: it does not end.
static size_t tag_end(const tval *s, size_t at) {
    const bool is_comment = s->str.n - at >= 4 && memcmp(s->str.s + at, "<!--", 4) == 0;
    const size_t from = at + (is_comment ? 4 : 0);
    const char *const end =
        is_comment ? memmem(s->str.s + from, s->str.n - from, "-->", 3) : memchr(s->str.s + at, '>', s->str.n - at);
    return end ? (size_t)(end - s->str.s) + (is_comment ? 3 : 1) : SIZE_MAX;
}

static const tval *without_tags(struct render *r, const tval *s) {
    const size_t begin = tr_begin(r);
    size_t at = 0;
    while (at < s->str.n) {
        const char *const open = memchr(s->str.s + at, '<', s->str.n - at);
        const size_t to = open ? (size_t)(open - s->str.s) : s->str.n;
        const size_t end = open ? tag_end(s, to) : SIZE_MAX;
        if (end == SIZE_MAX || !tr_work(r, 1)) break;
        if (!tr_put_part(r, s, at, to)) break;
        at = end;
    }
    tr_put_part(r, s, at, s->str.n);
    return tr_cut(r, begin);
}

static const tval *one_spaced(struct render *r, const tval *s) {
    const size_t begin = tr_begin(r);
    bool first = true;
    int len;
    for (size_t at = 0; at < s->str.n && tr_work(r, 1);) {
        size_t to = at;
        while (to < s->str.n && !py_is(PY_SPACE, py_char(s->str.s + to, s->str.n - to, &len))) to += (size_t)len;
        if (to > at && ((!first && !tr_put(r, " ", 1, false)) || !tr_put_part(r, s, at, to))) break;
        first &= to == at;
        at = to;
        while (at < s->str.n && py_is(PY_SPACE, py_char(s->str.s + at, s->str.n - at, &len))) at += (size_t)len;
    }
    return tr_cut(r, begin);
}

// Decodes the entity at `at` and sets *n to its bytes; 0: no known entity.
static uint32_t entity_at(const tval *s, size_t at, size_t *n) {
    static const struct {
        const char *name;
        uint32_t cp;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&nbsp;", 0xA0}};
    const char *const e = s->str.s + at;
    const size_t rest = s->str.n - at;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *n = strlen(names[i].name);
        if (rest >= *n && memcmp(e, names[i].name, *n) == 0) return names[i].cp;
    }
    if (rest < 3 || e[1] != '#') return 0;
    const bool hex = (e[2] | 0x20) == 'x';
    uint32_t cp = 0;
    const size_t first = hex ? 3 : 2;
    for (*n = first; *n < rest && *n < 10; ++*n) {
        const char c = e[*n];
        const int digit = c >= '0' && c <= '9'                            ? c - '0'
                          : hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                          : -1;
        if (digit < 0) break;
        cp = cp * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (*n == first) return 0;
    if (*n < rest && e[*n] == ';') ++*n;
    return cp == 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000) ? 0xFFFD : cp;
}

static const tval *unescaped(struct render *r, const tval *s) {
    const size_t begin = tr_begin(r);
    size_t plain = 0, n, unused;
    for (size_t i = 0; i < s->str.n; i++) {
        const uint32_t cp = s->str.s[i] == '&' ? entity_at(s, i, &n) : 0;
        if (!cp) continue;
        if (!tr_work(r, 1) || !tr_put_part(r, s, plain, i) || !tr_put_char(r, cp, tv_is_content(s, i, &unused)))
            break;
        plain = i + n;
        i = plain - 1;
    }
    tr_put_part(r, s, plain, s->str.n);
    return tr_cut(r, begin);
}

static const tval *striptags(struct render *r, const tval *v, const struct call *c) {
    const tval *s = tr_str(r, v);
    (void)c;
    if (!s || !tr_work(r, s->str.n / 8) || !(s = without_tags(r, s)) || !(s = one_spaced(r, s))) return NULL;
    return unescaped(r, s);
}

// ---- URLs and attributes ------------------------------------------------------------------------

static bool put_quoted(struct render *r, const tval *s, bool in_query) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~";
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s->str.n; i++) {
        const char c = s->str.s[i], escaped[] = {'%', hex[(uint8_t)c >> 4], hex[(uint8_t)c & 15]};
        size_t unused;
        const bool is_content = tv_is_content(s, i, &unused), as_plus = in_query && c == ' ';
        const bool is_plain = (c && strchr(plain, c)) || (c == '/' && !in_query);
        if (!tr_work(r, 1)) return false;
        if (!(is_plain  ? tr_put(r, &c, 1, is_content)
              : as_plus ? tr_put(r, "+", 1, is_content)
                        : tr_put(r, escaped, 3, is_content)))
            return false;
    }
    return true;
}

static bool put_query_item(struct render *r, const tval *key, const tval *value, bool first) {
    const tval *const k = tr_str(r, key), *const v = k ? tr_str(r, value) : NULL;
    return v && (first || tr_put(r, "&", 1, false)) && put_quoted(r, k, true) && tr_put(r, "=", 1, false) &&
           put_quoted(r, v, true);
}

static bool put_query(struct render *r, const tval *items) {
    struct tv_cursor c;
    bool first = true;
    if (!tr_iterate(r, items, &c)) return false;
    for (const tval *x; (x = tr_next(r, &c)); first = false) {
        if (!tv_is_items(x) || x->seq.n != 2)
            return tr_raise(r, "ValueError", "urlencode: items must be pairs") != NULL;
        if (!put_query_item(r, x->seq.items[0], x->seq.items[1], first)) return false;
    }
    return r->st == RN_OK;
}

static const tval *urlencode(struct render *r, const tval *v, const struct call *c) {
    (void)c;
    if (v->kind == TV_DICT && !(v = tr_view(r, v, 'i'))) return NULL;
    const bool is_text = tv_is_str(v) || !tv_is_iterable(v);
    if (is_text && !(v = tr_str(r, v))) return NULL;
    const size_t begin = tr_begin(r);
    if (is_text)
        put_quoted(r, v, false);
    else
        put_query(r, v);
    return tr_cut(r, begin);
}

static bool may_be_attribute(const tval *s) {
    for (size_t i = 0; i < s->str.n; i++)
        if (s->str.s[i] && strchr(" \t\n\r\f\v/>=", s->str.s[i])) return false;
    return true;
}

static const tval *xmlattr(struct render *r, const tval *v, const struct call *c) {
    if (v->kind != TV_DICT) return tr_raise(r, "TypeError", "xmlattr: '%s' is not a dictionary", tv_type_name(v));
    const bool leads = !c->arg[0] || tv_truth(c->arg[0]);
    const size_t begin = tr_begin(r);
    bool any = false;
    for (uint32_t i = 0; i < v->dict->n; i++) {
        const struct tv_entry *const e = &v->dict->entries[i];
        if (e->value->kind == TV_NONE || e->value->kind == TV_UNDEFINED) continue;
        if (!tv_is_str(&e->key) || !may_be_attribute(&e->key)) {
            tr_raise(r, "ValueError", "xmlattr: no name of an attribute");
            break;
        }
        const tval *const value = tr_escaped(r, e->value);
        if (!value || ((any || leads) && !tr_put(r, " ", 1, false)) || !put_escaped(r, &e->key)) break;
        if (!tr_put(r, "=\"", 2, false) || !tr_put_str(r, value) || !tr_put(r, "\"", 1, false)) break;
        any = true;
    }
    return tr_cut(r, begin);
}

static const struct builtin rows[] = {
    {"e", escape, "", 0, 0},
    {"escape", escape, "", 0, 0},
    {"forceescape", forceescape, "", 0, 0},
    {"safe", safe, "", 0, 0},
    {"striptags", striptags, "", 0, 0},
    {"urlencode", urlencode, "", 0, 0},
    {"xmlattr", xmlattr, "autospace", 0, 0},
    {"urlize", NULL, "", 0, B_NOT_RUN},
};
const struct builtin_table filters_of_markup = {rows, sizeof rows / sizeof *rows};
