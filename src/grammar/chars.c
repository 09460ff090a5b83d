// grammar/chars.c - see chars.h.
#include "grammar/chars.h"
#include "base/mem.h"
#include <stdio.h>
#include <stdlib.h>

void char_set_free(struct char_set *s) {
    mem_free(s->ranges);
    *s = (struct char_set){0};
}

void char_set_add(struct char_set *s, uint32_t from, uint32_t to) {
    if (from > to || s->failed) return;
    if (s->n == s->max) {
        const uint32_t max = s->max ? s->max * 2 : 16;
        struct char_range *const r = mem_realloc(s->ranges, max * sizeof *r);
        if (!r) return (void)(s->failed = true);
        s->ranges = r, s->max = max;
    }
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

static uint32_t encode(uint32_t cp, uint8_t out[4]) {
    if (cp < 0x80) return out[0] = (uint8_t)cp, 1;
    const uint32_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (uint32_t i = n; i-- > 1; cp >>= 6) out[i] = (uint8_t)(0x80 | (cp & 0x3f));
    out[0] = (uint8_t)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | cp);
    return n;
}

static expr_id byte_range(struct exprs *e, uint8_t from, uint8_t to) {
    struct byte_set s = {{0}};
    byte_set_add_range(&s, from, to);
    return expr_bytes(e, &s);
}

static expr_id any_tail(struct exprs *e, uint32_t n) {
    expr_id x = EXPR_EMPTY;
    while (n-- > 0) x = expr_cat(e, byte_range(e, 0x80, 0xbf), x);
    return x;
}

// Sequences of n bytes from a to b in order, both of which are valid.
static expr_id sequences(struct exprs *e, const uint8_t *a, const uint8_t *b, uint32_t n) {
    if (n == 1) return byte_range(e, a[0], b[0]);
    if (a[0] == b[0]) return expr_cat(e, byte_range(e, a[0], a[0]), sequences(e, a + 1, b + 1, n - 1));
    const uint8_t least[3] = {0x80, 0x80, 0x80}, most[3] = {0xbf, 0xbf, 0xbf};
    const bool from_least = memcmp(a + 1, least, n - 1) == 0, to_most = memcmp(b + 1, most, n - 1) == 0;
    const uint8_t first = from_least ? a[0] : (uint8_t)(a[0] + 1), last = to_most ? b[0] : (uint8_t)(b[0] - 1);
    expr_id parts[3];
    size_t k = 0;
    if (!from_least) parts[k++] = expr_cat(e, byte_range(e, a[0], a[0]), sequences(e, a + 1, most, n - 1));
    if (first <= last) parts[k++] = expr_cat(e, byte_range(e, first, last), any_tail(e, n - 1));
    if (!to_most) parts[k++] = expr_cat(e, byte_range(e, b[0], b[0]), sequences(e, least, b + 1, n - 1));
    return expr_or(e, parts, k);
}

static expr_id utf8_range(struct exprs *e, uint32_t from, uint32_t to) {
    static const uint32_t last_of[4] = {0x7f, 0x7ff, 0xffff, CHAR_MAX_CP};
    expr_id x = EXPR_NEVER;
    for (int i = 0; i < 4 && from <= to; i++) {
        if (from > last_of[i]) continue;
        const uint32_t end = to < last_of[i] ? to : last_of[i];
        uint8_t a[4], b[4];
        encode(from, a);
        x = expr_or2(e, x, sequences(e, a, b, encode(end, b)));
        from = end + 1;
    }
    return x;
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
    }
    for (uint32_t i = 0; i < plain.n; i++)
        x = expr_or2(e, x, utf8_range(e, plain.ranges[i].from, plain.ranges[i].to));
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
