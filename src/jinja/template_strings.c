// jinja/template_strings.c - see template_strings.h. Case: template_case.c.
#include "jinja/template_strings.h"
#include "jinja/py_chars.h"
#include "jinja/template_items.h"
#include "jinja/template_markup.h"

const tval *tr_like(struct render *r, const tval *s, const tval *like) {
    return s && like->is_html ? tr_marked_safe(r, s) : s;
}

// ---- strip --------------------------------------------------------------------------------------

static bool is_stripped(const char *c, size_t n, const tval *chars) {
    int len;
    if (!chars) return py_is(PY_SPACE, py_char(c, n, &len));
    for (size_t i = 0, k; i < chars->str.n; i += k) {
        k = py_char_len(chars->str.s + i, chars->str.n - i);
        if (k == n && memcmp(chars->str.s + i, c, n) == 0) return true;
    }
    return false;
}

const tval *tr_strip(struct render *r, const tval *s, const tval *chars, int sides) {
    if (!s) return NULL;
    const char *const text = s->str.s;
    size_t from = 0, to = s->str.n;
    const size_t price = 1 + (chars ? chars->str.n / 8 : 0); // steps for each character
    while (sides & STRIP_LEFT && from < to) {
        const size_t n = py_char_len(text + from, to - from);
        if (!is_stripped(text + from, n, chars)) break;
        if (!tr_work(r, price)) return NULL;
        from += n;
    }
    while (sides & STRIP_RIGHT && to > from) {
        const size_t n = py_char_len_before(text + from, to - from);
        if (!is_stripped(text + to - n, n, chars)) break;
        if (!tr_work(r, price)) return NULL;
        to -= n;
    }
    return tr_part(r, s, from, to);
}

// ---- replace ------------------------------------------------------------------------------------

// Inserts `new` between all characters and at both ends, at most `count` times.
static void put_between(struct render *r, const tval *s, const tval *new, tv_int count) {
    size_t at = 0;
    for (; count != 0 && tr_work(r, 1) && tr_put_str(r, new); count--) {
        if (at == s->str.n) return;
        const size_t n = py_char_len(s->str.s + at, s->str.n - at);
        if (!tr_put_part(r, s, at, at + n)) return;
        at += n;
    }
    tr_put_part(r, s, at, s->str.n);
}

const tval *tr_replace(struct render *r, const tval *s, const tval *old, const tval *new, tv_int count) {
    const char *const text = s->str.s;
    if (!tr_work_bytes(r, s->str.n)) return NULL;
    if (count == 0 || (old->str.n > 0 && !memmem(text, s->str.n, old->str.s, old->str.n))) return s;
    const size_t begin = tr_begin(r);
    size_t at = 0;
    if (old->str.n == 0) {
        put_between(r, s, new, count);
        return tr_cut(r, begin);
    }
    for (; count != 0; count--) {
        const char *const hit = memmem(text + at, s->str.n - at, old->str.s, old->str.n);
        if (!hit) break;
        const size_t to = (size_t)(hit - text);
        if (!tr_work(r, 1) || !tr_put_part(r, s, at, to) || !tr_put_str(r, new)) break;
        at = to + old->str.n;
    }
    tr_put_part(r, s, at, s->str.n);
    return tr_cut(r, begin);
}

// ---- join, pad, lines ---------------------------------------------------------------------------

const tval *tr_join(struct render *r, const tval *separator, const tval *items, bool as_strings) {
    struct tv_cursor c;
    size_t i = 0;
    if (!tr_iterate(r, items, &c)) return NULL;
    const size_t begin = tr_begin(r);
    for (const tval *x; (x = tr_next(r, &c)); i++) {
        if (as_strings && !tv_is_str(x)) {
            tr_raise(r, "TypeError", "join(): item %zu is '%s', not a string", i, tv_type_name(x));
            break;
        }
        if ((i > 0 && !tr_put_str(r, separator)) || !tr_put_value(r, x)) break;
    }
    return tr_cut(r, begin);
}

const tval *tr_pad(struct render *r, const tval *s, size_t width, const tval *fill, char align) {
    static const tval space = {.kind = TV_STRING, .is_ascii = true, .str = {.s = " ", .n = 1}};
    size_t n;
    if (!fill) fill = &space;
    if (tv_count_chars(fill) != 1) return tr_raise(r, "TypeError", "the fill must be one character");
    if (!tr_length(r, s, &n)) return NULL;
    if (n >= width) return s;
    const size_t more = width - n;
    const size_t left = align == '<'   ? 0
                        : align == '>' ? more
                                       : more / 2 + (more & width & 1); // centers as Python does
    const size_t begin = tr_begin(r);
    if (tr_put_times(r, fill, left) && tr_put_str(r, s)) tr_put_times(r, fill, more - left);
    return tr_like(r, tr_cut(r, begin), s);
}

static bool ends_line(uint32_t cp) {
    return (cp >= 0x0A && cp <= 0x0D) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

const tval *tr_splitlines(struct render *r, const tval *s, bool keep_ends) {
    tval *const lines = tr_items(r, TV_LIST, 0);
    const char *const text = s->str.s;
    size_t begin = 0;
    int len;
    if (!lines || !tr_work_bytes(r, s->str.n)) return NULL;
    for (size_t i = 0; i < s->str.n; i += (size_t)len) {
        if (!ends_line(py_char(text + i, s->str.n - i, &len))) continue;
        if (text[i] == '\r' && i + 1 < s->str.n && text[i + 1] == '\n') len = 2;
        const size_t next = i + (size_t)len;
        if (!tr_work(r, 1) || !tr_push(r, lines, tr_part(r, s, begin, keep_ends ? next : i))) return NULL;
        begin = next;
    }
    if (begin < s->str.n && !tr_push(r, lines, tr_part(r, s, begin, s->str.n))) return NULL;
    return lines;
}

const tval *tr_reversed(struct render *r, const tval *s) {
    static const tval minus_one = {.kind = TV_INT, .i = -1};
    return tr_slice(r, s, NULL, NULL, &minus_one);
}
