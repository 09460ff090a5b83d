// jinja/template_methods_split.c - string methods: strip, split, join.
#include "jinja/py_chars.h"
#include "jinja/template_items.h"
#include "jinja/template_strings.h"

static const tval *strip_sides(struct render *r, const tval *s, const struct call *c, int sides) {
    const tval *const chars = c->arg[0] && c->arg[0]->kind != TV_NONE ? arg_str(r, c, 0) : NULL;
    return r->st == RN_OK ? tr_strip(r, s, chars, sides) : NULL;
}
static const tval *strip(struct render *r, const tval *s, const struct call *c) {
    return strip_sides(r, s, c, STRIP_LEFT | STRIP_RIGHT);
}
static const tval *lstrip(struct render *r, const tval *s, const struct call *c) {
    return strip_sides(r, s, c, STRIP_LEFT);
}
static const tval *rstrip(struct render *r, const tval *s, const struct call *c) {
    return strip_sides(r, s, c, STRIP_RIGHT);
}

// ---- split --------------------------------------------------------------------------------------

// Splits from the left, at most `max` times.
static bool split_at(struct render *r, tval *parts, const tval *s, const tval *by, tv_int max) {
    size_t from = 0;
    for (; max != 0; max--) {
        const char *const hit = memmem(s->str.s + from, s->str.n - from, by->str.s, by->str.n);
        if (!hit) break;
        const size_t to = (size_t)(hit - s->str.s);
        if (!tr_work(r, 2) || !tr_push(r, parts, tr_part(r, s, from, to))) return false;
        from = to + by->str.n;
    }
    return tr_push(r, parts, tr_part(r, s, from, s->str.n));
}

static bool split_at_spaces(struct render *r, tval *parts, const tval *s, tv_int max) {
    const char *const text = s->str.s;
    size_t at = 0;
    int len;
    for (;;) {
        while (at < s->str.n && py_is(PY_SPACE, py_char(text + at, s->str.n - at, &len))) at += (size_t)len;
        if (at == s->str.n) return true;
        const size_t from = at;
        if (max-- == 0) return tr_push(r, parts, tr_part(r, s, from, s->str.n));
        while (at < s->str.n && !py_is(PY_SPACE, py_char(text + at, s->str.n - at, &len))) at += (size_t)len;
        if (!tr_work(r, 2) || !tr_push(r, parts, tr_part(r, s, from, at))) return false;
    }
}

// The last occurrence of `by` in the first n bytes; SIZE_MAX: none.
static size_t last_place(const tval *s, size_t n, const tval *by) {
    for (size_t at = n; at >= by->str.n; at--)
        if (memcmp(s->str.s + at - by->str.n, by->str.s, by->str.n) == 0) return at - by->str.n;
    return SIZE_MAX;
}

// Splits from the right; the caller must reverse the parts.
static bool rsplit_at(struct render *r, tval *parts, const tval *s, const tval *by, tv_int max) {
    size_t to = s->str.n;
    for (; max != 0; max--) {
        const size_t hit = last_place(s, to, by);
        if (hit == SIZE_MAX) break;
        if (!tr_work(r, 2) || !tr_push(r, parts, tr_part(r, s, hit + by->str.n, to))) return false;
        to = hit;
    }
    return tr_push(r, parts, tr_part(r, s, 0, to));
}

static bool rsplit_at_spaces(struct render *r, tval *parts, const tval *s, tv_int max) {
    const char *const text = s->str.s;
    size_t at = s->str.n, n;
    int len;
    for (;;) {
        for (; at > 0; at -= n) {
            n = py_char_len_before(text, at);
            if (!py_is(PY_SPACE, py_char(text + at - n, n, &len))) break;
        }
        if (at == 0) return true;
        const size_t to = at;
        if (max-- == 0) return tr_push(r, parts, tr_part(r, s, 0, to));
        for (; at > 0; at -= n) {
            n = py_char_len_before(text, at);
            if (py_is(PY_SPACE, py_char(text + at - n, n, &len))) break;
        }
        if (!tr_work(r, 2) || !tr_push(r, parts, tr_part(r, s, at, to))) return false;
    }
}

static void turn_round(tval *parts) {
    for (size_t i = 0, k = parts->seq.n; i + 1 < k; i++) {
        const tval *const v = parts->seq.items[i];
        parts->seq.items[i] = parts->seq.items[--k];
        parts->seq.items[k] = v;
    }
}

static const tval *split_any(struct render *r, const tval *s, const struct call *c, bool from_right) {
    const bool at_spaces = !c->arg[0] || c->arg[0]->kind == TV_NONE;
    tv_int max;
    if ((!at_spaces && !arg_str(r, c, 0)) || !arg_int(r, c, 1, -1, &max)) return NULL;
    if (!at_spaces && c->arg[0]->str.n == 0)
        return tr_raise(r, "ValueError", "%s(): the separator is empty", c->row->name);
    tval *const parts = tr_items(r, TV_LIST, 0);
    if (!parts || !tr_work(r, s->str.n / (from_right || at_spaces ? 8 : 32))) return NULL;
    if (!(from_right ? (at_spaces ? rsplit_at_spaces(r, parts, s, max) : rsplit_at(r, parts, s, c->arg[0], max))
                     : (at_spaces ? split_at_spaces(r, parts, s, max) : split_at(r, parts, s, c->arg[0], max))))
        return NULL;
    if (from_right) turn_round(parts);
    return parts;
}
static const tval *split(struct render *r, const tval *s, const struct call *c) { return split_any(r, s, c, false); }
static const tval *rsplit(struct render *r, const tval *s, const struct call *c) { return split_any(r, s, c, true); }

static const tval *splitlines(struct render *r, const tval *s, const struct call *c) {
    return tr_splitlines(r, s, arg_truth(c, 0));
}

// ---- partition, join ----------------------------------------------------------------------------

static const tval *cut_in_three(struct render *r, const tval *s, const struct call *c, bool last) {
    const tval *const by = arg_str(r, c, 0);
    if (!by || !tr_work(r, s->str.n / (last ? 8 : 32))) return NULL;
    if (by->str.n == 0) return tr_raise(r, "ValueError", "%s(): the separator is empty", c->row->name);
    const char *const first = memmem(s->str.s, s->str.n, by->str.s, by->str.n);
    const size_t at = last ? last_place(s, s->str.n, by) : first ? (size_t)(first - s->str.s) : SIZE_MAX;
    tval *const v = tr_items(r, TV_TUPLE, 3);
    if (!v) return NULL;
    if (at == SIZE_MAX)
        return tr_push(r, v, last ? &tv_empty : s) && tr_push(r, v, &tv_empty) && tr_push(r, v, last ? s : &tv_empty)
                   ? v
                   : NULL;
    const size_t end = at + by->str.n;
    return tr_push(r, v, tr_part(r, s, 0, at)) && tr_push(r, v, by) && tr_push(r, v, tr_part(r, s, end, s->str.n))
               ? v
               : NULL;
}
static const tval *partition(struct render *r, const tval *s, const struct call *c) {
    return cut_in_three(r, s, c, false);
}
static const tval *rpartition(struct render *r, const tval *s, const struct call *c) {
    return cut_in_three(r, s, c, true);
}

static const tval *join(struct render *r, const tval *s, const struct call *c) {
    return tr_join(r, s, c->arg[0], true);
}

static const struct builtin rows[] = {
    {"strip", strip, "chars", 0, B_POSITIONAL},       {"lstrip", lstrip, "chars", 0, B_POSITIONAL},
    {"rstrip", rstrip, "chars", 0, B_POSITIONAL},     {"split", split, "sep,maxsplit", 0, 0},
    {"rsplit", rsplit, "sep,maxsplit", 0, 0},         {"splitlines", splitlines, "keepends", 0, 0},
    {"partition", partition, "sep", 1, B_POSITIONAL}, {"rpartition", rpartition, "sep", 1, B_POSITIONAL},
    {"join", join, "iterable", 1, B_POSITIONAL},
};
const struct builtin_table methods_of_split = {rows, sizeof rows / sizeof *rows};
