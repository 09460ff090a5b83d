// jinja/template_wrap.c - the filter wordwrap: Python's textwrap, paragraph by paragraph.
#include "jinja/py_chars.h"
#include "jinja/template_filters.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

struct wrapper {
    struct render *r;
    const tval *text; // one paragraph
    size_t *at;       // byte offsets of its n characters, and of its end
    size_t n;
    size_t width;
    bool breaks_words, breaks_hyphens;
};

// Characters [from, to) that are not separated.
struct chunk {
    size_t from, to;
};

static uint32_t char_at(const struct wrapper *w, size_t i) {
    int len;
    return i < w->n ? py_char(w->text->str.s + w->at[i], w->at[i + 1] - w->at[i], &len) : PY_NO_CHAR;
}

static bool is_blank(const struct wrapper *w, size_t i) {
    const uint32_t cp = char_at(w, i);
    return cp == ' ' || (cp >= '\t' && cp <= '\r');
}
static bool is_word(const struct wrapper *w, size_t i) { return py_is(PY_WORD, char_at(w, i)); }
static bool is_letter(const struct wrapper *w, size_t i) {
    return is_word(w, i) && !py_is(PY_DECIMAL, char_at(w, i));
}
static bool is_hyphen(const struct wrapper *w, size_t i) { return char_at(w, i) == '-'; }

static bool may_precede_dash(const struct wrapper *w, size_t i) {
    const uint32_t cp = char_at(w, i);
    return py_is(PY_WORD, cp) || (cp && cp < 0x80 && strchr("!\"'&.,?", (int)cp));
}

// If a dash of two or more hyphens before a word is at i, returns the position after it, else 0.
static size_t dash_end(const struct wrapper *w, size_t i) {
    size_t end = i;
    while (is_hyphen(w, end)) end++;
    return end >= i + 2 && is_word(w, end) ? end : 0;
}

// May a line break after the hyphen at i? It must follow two letters, or a letter, a hyphen and a
// letter, and precede two letters, or a letter, a hyphen and a letter.
static bool cuts_behind(const struct wrapper *w, size_t i) {
    if (!is_hyphen(w, i) || i < 2) return false;
    const bool before = (is_letter(w, i - 1) && is_letter(w, i - 2)) ||
                        (i >= 3 && may_precede_dash(w, i - 1) && is_hyphen(w, i - 2) && is_letter(w, i - 3));
    return before && is_letter(w, i + 1) && (is_letter(w, i + 2) || (is_hyphen(w, i + 2) && is_letter(w, i + 3)));
}

static size_t chunk_end(const struct wrapper *w, size_t i) {
    size_t end = i;
    if (is_blank(w, i)) {
        while (end < w->n && is_blank(w, end)) end++;
        return end;
    }
    if (!w->breaks_hyphens) {
        while (end < w->n && !is_blank(w, end)) end++;
        return end;
    }
    if (i > 0 && may_precede_dash(w, i - 1) && dash_end(w, i)) return dash_end(w, i);
    for (end = i + 1; end < w->n && !is_blank(w, end); end++) {
        if (cuts_behind(w, end)) return end + 1;
        if (may_precede_dash(w, end - 1) && dash_end(w, end)) return end;
    }
    return end;
}

// Where to cut a chunk that is longer than a line: at most `room` characters in, after a hyphen if
// possible.
static size_t long_cut(const struct wrapper *w, struct chunk c, size_t room) {
    bool any_other = false;
    if (!w->breaks_hyphens || c.to - c.from <= room) return room;
    size_t hyphen = 0;
    for (size_t i = 0; i < room; i++)
        if (is_hyphen(w, c.from + i)) hyphen = i;
    for (size_t i = 0; i < hyphen; i++) any_other |= !is_hyphen(w, c.from + i);
    return hyphen > 0 && any_other ? hyphen + 1 : room;
}

static bool chunk_is_blank(const struct wrapper *w, struct chunk c) { return is_blank(w, c.from); }

// Writes one line, beginning with chunk *c. White space at both ends is dropped, except at the
// beginning of the first line.
static bool put_line(struct wrapper *w, struct chunk *c, bool is_first, const tval *separator, bool *any_line) {
    size_t begin, end, used = 0;
    bool any = false;
    if (!is_first && chunk_is_blank(w, *c)) *c = (struct chunk){c->to, chunk_end(w, c->to)};
    begin = end = c->from;
    struct chunk last = {begin, begin};
    while (c->from < w->n && used + (c->to - c->from) <= w->width) {
        last = *c;
        used += c->to - c->from;
        end = c->to;
        any = true;
        *c = (struct chunk){c->to, chunk_end(w, c->to)};
    }
    if (c->from < w->n && c->to - c->from > w->width && (w->breaks_words || !any)) {
        const size_t cut = w->breaks_words ? long_cut(w, *c, w->width - used) : c->to - c->from;
        last =
            (struct chunk){c->from, c->from + cut}; // also when nothing of it fits: then white space before it stays
        end = c->from + cut;
        any |= cut > 0;
        c->from = end;
        if (c->from == c->to) c->to = chunk_end(w, c->from);
    }
    if (any && last.to > last.from && chunk_is_blank(w, last)) end = last.from, any = end > begin;
    if (!any) return tr_work(w->r, 1);
    if (*any_line && !tr_put_str(w->r, separator)) return false;
    *any_line = true;
    return tr_work(w->r, end - begin) && tr_put_part(w->r, w->text, w->at[begin], w->at[end]);
}

static bool put_paragraph(struct wrapper *w, const tval *text, const tval *separator) {
    w->text = text;
    w->n = tv_count_chars(text);
    if (!tr_work(w->r, 2 * w->n) || !(w->at = tr_alloc(w->r, w->n + 1, sizeof *w->at))) return false;
    for (size_t i = 0; i < w->n; i++)
        w->at[i + 1] = w->at[i] + py_char_len(text->str.s + w->at[i], text->str.n - w->at[i]);
    struct chunk c = {0, w->n ? chunk_end(w, 0) : 0};
    bool any_line = false;
    while (c.from < w->n)
        if (!put_line(w, &c, !any_line, separator, &any_line)) return false;
    return true;
}

const tval *filter_wordwrap(struct render *r, const tval *v, const struct call *c) {
    static const tval newline = {.kind = TV_STRING, .is_ascii = true, .str = {.s = "\n", .n = 1}};
    struct wrapper w = {.r = r,
                        .breaks_words = !c->arg[1] || tv_truth(c->arg[1]),
                        .breaks_hyphens = !c->arg[3] || tv_truth(c->arg[3])};
    const tval *const separator = c->arg[2] && c->arg[2]->kind != TV_NONE ? arg_str(r, c, 2) : &newline;
    if (!tv_is_str(v)) return tr_raise(r, "TypeError", "wordwrap: '%s' is not a string", tv_type_name(v));
    if (!separator || !arg_size(r, c, 0, 79, &w.width)) return NULL;
    if (w.width == 0 && v->str.n > 0) return tr_raise(r, "ValueError", "wordwrap: the width is not above 0");
    const tval *const lines = tr_splitlines(r, v, false);
    if (!lines) return NULL;
    const size_t begin = tr_begin(r);
    for (size_t i = 0; i < lines->seq.n; i++) {
        if (i > 0 && !tr_put_str(r, separator)) break;
        if (!put_paragraph(&w, lines->seq.items[i], separator)) break;
    }
    return tr_cut(r, begin);
}
