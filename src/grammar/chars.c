// grammar/chars.c - see chars.h.
#include "grammar/chars.h"
#include "base/mem.h"
#include "text/utf8.h"
#include <stdio.h>
#include <stdlib.h>

void char_set_free(struct char_set *s) {
    mem_free(s->ranges);
    *s = (struct char_set){0};
}

void char_set_add(struct char_set *s, uint32_t from, uint32_t to) {
    if (from > to || s->failed) return;
    if (!mem_grow(&s->ranges, s->n, &s->max, 16, sizeof *s->ranges)) return (void)(s->failed = true);
    s->ranges[s->n++] = (struct char_range){from, to};
}

void char_set_add_set(struct char_set *s, const struct char_set *t) {
    s->failed |= t->failed;
    for (uint32_t i = 0; i < t->n; i++) char_set_add(s, t->ranges[i].from, t->ranges[i].to);
}

static int by_from(const void *a, const void *b) {
    const struct char_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

// Replaces the ranges by their parts outside from..to.
static void cut(struct char_set *s, uint32_t from, uint32_t to) {
    const uint32_t n = s->n;
    for (uint32_t i = 0; i < n && !s->failed; i++) {
        const struct char_range r = s->ranges[i];
        if (r.to < from || r.from > to) continue;
        s->ranges[i] = (struct char_range){1, 0};
        if (r.from < from) s->ranges[i] = (struct char_range){r.from, from - 1};
        if (r.to > to) char_set_add(s, to + 1, r.to);
    }
    uint32_t m = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->ranges[i].from <= s->ranges[i].to) s->ranges[m++] = s->ranges[i];
    s->n = m;
}

void char_set_settle(struct char_set *s) {
    cut(s, 0xd800, 0xdfff);
    if (s->n > 1) qsort(s->ranges, s->n, sizeof *s->ranges, by_from);
    uint32_t m = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (m > 0 && s->ranges[i].from <= s->ranges[m - 1].to + 1) {
            if (s->ranges[i].to > s->ranges[m - 1].to) s->ranges[m - 1].to = s->ranges[i].to;
        } else {
            s->ranges[m++] = s->ranges[i];
        }
    s->n = m;
}

void char_set_invert(struct char_set *s) {
    char_set_settle(s);
    struct char_set out = {.failed = s->failed};
    uint32_t at = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->ranges[i].from > at) char_set_add(&out, at, s->ranges[i].from - 1);
        at = s->ranges[i].to + 1;
    }
    char_set_add(&out, at, CHAR_MAX_CP);
    char_set_free(s);
    *s = out;
    char_set_settle(s);
}

void char_set_and(struct char_set *s, const struct char_set *t) {
    struct char_set out = {.failed = s->failed || t->failed};
    for (uint32_t i = 0, k = 0; i < s->n && k < t->n;) {
        const struct char_range a = s->ranges[i], b = t->ranges[k];
        const uint32_t from = a.from > b.from ? a.from : b.from, to = a.to < b.to ? a.to : b.to;
        if (from <= to) char_set_add(&out, from, to);
        if (a.to < b.to)
            i++;
        else
            k++;
    }
    char_set_free(s);
    *s = out;
}

// ---- as UTF-8: a tree of bytes, in which equal parts are one ----

// 64^n code points share all but their last n bytes.
static uint32_t span_of(uint32_t n_tail) { return 1u << 6 * n_tail; }

static const struct char_range *first_from(const struct char_set *s, uint32_t cp) {
    uint32_t low = 0, high = s->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (s->ranges[mid].to < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return s->ranges + low;
}

static expr_id bytes_then(struct exprs *e, const struct byte_set *set, expr_id rest) {
    return expr_cat(e, expr_bytes(e, set), rest);
}

struct clip { // the characters of a set from..to
    const struct char_set *s;
    uint32_t from, to;
};

static expr_id tails(struct exprs *e, const struct clip *s, uint32_t base, uint32_t n_tail);

// The characters from `base` on, by their next byte, which is one of n from `byte` on.
static expr_id by_byte(struct exprs *e, const struct clip *s, uint32_t base, uint32_t byte, uint32_t n,
                       uint32_t n_tail) {
    expr_id rests[64], kids[64];
    struct byte_set sets[64];
    uint32_t n_kids = 0;
    for (uint32_t i = 0; i < n; i++) {
        const expr_id rest = tails(e, s, base + i * span_of(n_tail), n_tail);
        uint32_t k = 0;
        if (rest == EXPR_NEVER) continue;
        while (k < n_kids && rests[k] != rest) k++;
        if (k == n_kids) rests[n_kids] = rest, sets[n_kids++] = (struct byte_set){{0}};
        byte_set_add(&sets[k], (uint8_t)(byte + i));
    }
    for (uint32_t k = 0; k < n_kids; k++) kids[k] = bytes_then(e, &sets[k], rests[k]);
    return expr_or(e, kids, n_kids);
}

// The last n_tail bytes of the characters from `base` on that begin alike.
static expr_id tails(struct exprs *e, const struct clip *s, uint32_t base, uint32_t n_tail) {
    const uint32_t begin = base > s->from ? base : s->from, end = base + span_of(n_tail) - 1,
                   last = end < s->to ? end : s->to;
    const struct char_range *r = first_from(s->s, begin), *const r_end = s->s->ranges + s->s->n;
    if (begin > last || r == r_end || r->from > last) return EXPR_NEVER;
    if (n_tail == 0) return EXPR_EMPTY;
    if (begin == base && last == end && r->from <= base && r->to >= last) {
        struct byte_set any = {{0}};
        expr_id x = EXPR_EMPTY;
        byte_set_add_range(&any, 0x80, 0xbf);
        for (uint32_t i = 0; i < n_tail; i++) x = bytes_then(e, &any, x);
        return x;
    }
    if (n_tail > 1) return by_byte(e, s, base, 0x80, 64, n_tail - 1);
    struct byte_set set = {{0}};
    for (; r < r_end && r->from <= last; r++) {
        const uint32_t from = r->from < begin ? begin : r->from, to = r->to > last ? last : r->to;
        byte_set_add_range(&set, (uint8_t)(0x80 + from - base), (uint8_t)(0x80 + to - base));
    }
    return expr_bytes(e, &set);
}

// s: sorted, without surrogates and overlaps
static expr_id utf8_expr(struct exprs *e, const struct char_set *s) {
    if (s->n == 0) return EXPR_NEVER;
    struct byte_set ascii = {{0}};
    for (uint32_t i = 0; i < s->n && s->ranges[i].from < 0x80; i++)
        byte_set_add_range(&ascii, (uint8_t)s->ranges[i].from,
                           (uint8_t)(s->ranges[i].to < 0x80 ? s->ranges[i].to : 0x7f));
    const struct clip two = {s, 0x80, 0x7ff}, three = {s, 0x800, 0xffff}, four = {s, 0x10000, CHAR_MAX_CP};
    const expr_id kids[4] = {expr_bytes(e, &ascii), by_byte(e, &two, 0x80, 0xc2, 30, 1),
                             by_byte(e, &three, 0, 0xe0, 16, 2), by_byte(e, &four, 0, 0xf0, 5, 3)};
    return expr_or(e, kids, 4);
}

static expr_id hex_digit(struct exprs *e, uint32_t v) {
    struct byte_set s = {{0}};
    byte_set_add(&s, (uint8_t) "0123456789abcdef"[v]);
    byte_set_add(&s, (uint8_t) "0123456789ABCDEF"[v]);
    return expr_bytes(e, &s);
}

// The ways to write what may not stand in a JSON string as it is, and the slash.
static expr_id escapes(struct exprs *e, uint32_t cp) {
    static const char from[] = "\"\\/\b\f\n\r\t", to[] = "\"\\/bfnrt";
    const char *const at = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;
    const expr_id back = expr_byte(e, '\\');
    expr_id x = at ? expr_cat(e, back, expr_byte(e, (uint8_t)to[at - from])) : EXPR_NEVER;
    if (cp < 0x20) {
        const expr_id digits = expr_cat(e, hex_digit(e, cp >> 4), hex_digit(e, cp & 15));
        x = expr_or2(e, x, expr_cat(e, back, expr_cat(e, expr_text(e, "u00", 3), digits)));
    }
    return x;
}

static bool has(const struct char_set *s, uint32_t cp) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->ranges[i].from <= cp && cp <= s->ranges[i].to) return true;
    return false;
}

expr_id chars_expr(struct exprs *e, const struct char_set *s, enum coding coding) {
    if (s->failed) e->status = RN_E_NOMEM;
    struct char_set plain = {0};
    expr_id x = EXPR_NEVER;
    char_set_add_set(&plain, s);
    if (coding == CODING_JSON) {
        for (uint32_t cp = 0; cp < 0x80; cp++)
            if ((cp < 0x20 || cp == '"' || cp == '\\' || cp == '/') && has(s, cp)) x = expr_or2(e, x, escapes(e, cp));
        cut(&plain, 0, 0x1f), cut(&plain, '"', '"'), cut(&plain, '\\', '\\');
        char_set_settle(&plain);
    }
    if (!plain.failed) x = expr_or2(e, x, utf8_expr(e, &plain));
    if (plain.failed) e->status = RN_E_NOMEM;
    char_set_free(&plain);
    return e->status == RN_OK ? x : (expr_id)EXPR_NEVER;
}

expr_id chars_any(struct exprs *e, enum coding coding) {
    struct char_range all[] = {{0, 0xd7ff}, {0xe000, CHAR_MAX_CP}};
    return chars_expr(e, &(struct char_set){.ranges = all, .n = 2, .max = 2}, coding);
}

expr_id chars_text(struct exprs *e, const char *s, size_t n, enum coding coding) {
    expr_id x = EXPR_EMPTY;
    while (n-- > 0) {
        const uint8_t c = (uint8_t)s[n];
        const bool is_plain = coding == CODING_UTF8 || (c >= 0x20 && c != '"' && c != '\\' && c != '/');
        expr_id one = is_plain ? expr_byte(e, c) : escapes(e, c);
        if (!is_plain && c == '/') one = expr_or2(e, one, expr_byte(e, c));
        x = expr_cat(e, one, x);
    }
    return x;
}

expr_id chars_derive(struct exprs *e, expr_id x, uint32_t cp, enum coding coding) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    char s[8];
    int n = utf8_encode(cp, s);
    const char *const at = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;
    if (coding == CODING_JSON && at)
        s[0] = '\\', s[1] = to[at - from], n = 2;
    else if (coding == CODING_JSON && cp < 0x20)
        n = snprintf(s, sizeof s, "\\u%04x", (unsigned)cp);
    for (int i = 0; i < n; i++) x = expr_derive(e, x, (uint8_t)s[i]);
    return x;
}

static int by_bytes(const void *a, const void *b) {
    const struct text *x = a, *y = b;
    const int order = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

// Sorted texts from their byte `at` on.
static expr_id texts_from(struct exprs *e, const struct text *texts, size_t n, size_t at, int nested,
                          enum coding coding) {
    const struct text first = texts[0], last = texts[n - 1];
    size_t same = at;
    while (same < first.n && same < last.n && first.s[same] == last.s[same]) same++;
    if (n == 1) return chars_text(e, first.s + at, first.n - at, coding);
    expr_id *const ways = mem_alloc(n * sizeof *ways);
    size_t n_ways = 0;
    if (!ways) return e->status = RN_E_NOMEM, EXPR_NEVER;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1;
             end < n && same < texts[i].n && same < texts[end].n && texts[i].s[same] == texts[end].s[same];)
            end++;
        if (same >= texts[i].n)
            ways[n_ways++] = EXPR_EMPTY;
        else if (nested == 0)
            for (size_t k = i; k < end; k++)
                ways[n_ways++] = chars_text(e, texts[k].s + same, texts[k].n - same, coding);
        else
            ways[n_ways++] = texts_from(e, texts + i, end - i, same, nested - 1, coding);
    }
    const expr_id rest = expr_or(e, ways, n_ways);
    mem_free(ways);
    const expr_id begin = chars_text(e, first.s + at, same - at, coding);
    return expr_cat(e, begin, rest);
}

expr_id chars_texts(struct exprs *e, struct text *texts, size_t n, enum coding coding) {
    enum { MAX_NESTED = 200 };
    if (n == 0) return EXPR_NEVER;
    if (n > 1) qsort(texts, n, sizeof *texts, by_bytes);
    return texts_from(e, texts, n, 0, MAX_NESTED, coding);
}
