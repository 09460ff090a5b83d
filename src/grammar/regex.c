// grammar/regex.c - see regex.h: a parser of patterns (regex_parse), and their translation to expressions (regex_make).
#include "grammar/regex.h"
#include "base/mem.h"

enum { MAX_NESTED = 200, MAX_REPEAT = 100000, MAX_BYTES = 8192 };
enum kind { R_EMPTY, R_SET, R_CAT, R_ALT, R_REPEAT, R_BEGIN, R_END, R_LOOK, R_NOT_LOOK };

struct rnode {
    enum kind kind;
    uint32_t a, b;     // CAT, ALT: of two. REPEAT, LOOK: of a. SET: the expression a of one character
    uint32_t min, max; // REPEAT
    bool asserts;      // ^, $ or a lookahead inside
    bool consumes;     // matches at least one character
    bool is_bare;      // matches no character at all
};

struct parser {
    struct exprs *e;
    const char *s;
    size_t n, at;
    enum coding coding;
    struct rnode *nodes;
    uint32_t n_nodes, max_nodes;
    int nested;
    rn_error *err;
    rn_status st;
};

static uint32_t stop(struct parser *p, rn_status st, const char *why) {
    if (p->st == RN_OK) {
        size_t n_chars = 1;
        for (size_t i = 0; i < p->at && i < p->n; i++) n_chars += ((uint8_t)p->s[i] & 0xc0) != 0x80;
        p->st = fail(p->err, st, "%s (at character %zu)", why, n_chars);
    }
    return 0;
}

static uint32_t add(struct parser *p, struct rnode x) {
    if (p->st != RN_OK) return 0;
    if (p->n_nodes == p->max_nodes) {
        const uint32_t max = p->max_nodes ? p->max_nodes * 2 : 64;
        struct rnode *const q = mem_realloc(p->nodes, max * sizeof *q);
        if (!q) return stop(p, RN_E_NOMEM, "out of memory");
        p->nodes = q, p->max_nodes = max;
    }
    const struct rnode *const a = x.a < p->n_nodes ? &p->nodes[x.a] : NULL, *const b = x.b < p->n_nodes
                                                                                           ? &p->nodes[x.b]
                                                                                           : NULL;
    switch (x.kind) {
    case R_EMPTY: x.is_bare = true; break;
    case R_SET: x.consumes = true; break;
    case R_BEGIN:
    case R_END: x.asserts = x.is_bare = true; break;
    case R_LOOK:
    case R_NOT_LOOK: x.asserts = x.is_bare = true; break;
    case R_REPEAT:
        x.asserts = a->asserts, x.consumes = a->consumes && x.min > 0, x.is_bare = a->is_bare || x.max == 0;
        break;
    case R_CAT:
        x.asserts = a->asserts || b->asserts, x.consumes = a->consumes || b->consumes,
        x.is_bare = a->is_bare && b->is_bare;
        break;
    case R_ALT:
        x.asserts = a->asserts || b->asserts, x.consumes = a->consumes && b->consumes,
        x.is_bare = a->is_bare && b->is_bare;
        break;
    }
    p->nodes[p->n_nodes] = x;
    return p->n_nodes++;
}

// ---- characters and classes ----

static bool more(const struct parser *p) { return p->st == RN_OK && p->at < p->n; }
static char peek(const struct parser *p) { return p->at < p->n ? p->s[p->at] : 0; }
static bool take(struct parser *p, const char *s) {
    const size_t n = strlen(s);
    if (p->st != RN_OK || p->n - p->at < n || memcmp(p->s + p->at, s, n) != 0) return false;
    p->at += n;
    return true;
}

static uint32_t read_char(struct parser *p) {
    const uint8_t c = (uint8_t)p->s[p->at++];
    uint32_t cp = c < 0x80 ? c : c < 0xe0 ? c & 0x1f : c < 0xf0 ? c & 0x0f : c & 0x07;
    for (int k = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3; k > 0 && p->at < p->n; k--)
        cp = cp << 6 | ((uint8_t)p->s[p->at++] & 0x3f);
    return cp;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t read_hex(struct parser *p, int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; i++) {
        const int h = p->at < p->n ? hex_value(p->s[p->at]) : -1;
        if (h < 0) return stop(p, RN_E_ARG, "an escape lacks hexadecimal digits");
        v = v * 16 + (uint32_t)h, p->at++;
    }
    return v;
}

static uint32_t read_unicode(struct parser *p) {
    if (take(p, "{")) {
        uint32_t v = 0;
        for (int h; p->at < p->n && (h = hex_value(p->s[p->at])) >= 0 && v <= CHAR_MAX_CP; p->at++)
            v = v * 16 + (uint32_t)h;
        if (!take(p, "}") || v > CHAR_MAX_CP) return stop(p, RN_E_ARG, "\\u{...} needs a code point up to 10FFFF");
        return v;
    }
    const uint32_t high = read_hex(p, 4);
    if (high < 0xd800 || high > 0xdbff || !take(p, "\\u")) return high;
    const uint32_t low = read_hex(p, 4);
    if (low < 0xdc00 || low > 0xdfff) return stop(p, RN_E_ARG, "half of a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static const struct char_range digits[] = {{'0', '9'}}, words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                               spaces[] = {{9, 13},          {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
                                           {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                           {0x3000, 0x3000}, {0xfeff, 0xfeff}},
                               line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
static const struct {
    char name;
    uint32_t n;
    const struct char_range *ranges;
} named_classes[] = {{'d', 1, digits}, {'w', 4, words}, {'s', 10, spaces}};

// \d and the like, of either case. False: the letter names no class.
static bool add_class(struct char_set *s, char letter) {
    for (size_t i = 0; i < sizeof named_classes / sizeof *named_classes; i++) {
        if (named_classes[i].name != (letter | 0x20)) continue;
        struct char_set c = {0};
        for (uint32_t k = 0; k < named_classes[i].n; k++)
            char_set_add(&c, named_classes[i].ranges[k].from, named_classes[i].ranges[k].to);
        if (!(letter & 0x20)) char_set_invert(&c);
        char_set_add_set(s, &c);
        char_set_free(&c);
        return true;
    }
    return false;
}

// After a backslash: a class is added to s (true), or a character is put into *cp.
static bool read_escape(struct parser *p, struct char_set *s, uint32_t *cp) {
    static const char from[] = "tnvfr0", to[] = "\t\n\v\f\r";
    if (!more(p)) return stop(p, RN_E_ARG, "a backslash at the end"), true;
    const char c = p->s[p->at];
    if (add_class(s, c)) return p->at++, true;
    *cp = 0;
    const char *const at = c ? strchr(from, c) : NULL;
    if (at && !(c == '0' && p->at + 1 < p->n && p->s[p->at + 1] >= '0' && p->s[p->at + 1] <= '9')) {
        p->at++, *cp = (uint8_t)to[at - from];
    } else if (c == 'x') {
        p->at++, *cp = read_hex(p, 2);
    } else if (c == 'u') {
        p->at++, *cp = read_unicode(p);
    } else if (c == 'c' && p->at + 1 < p->n && ((p->s[p->at + 1] | 0x20) >= 'a' && (p->s[p->at + 1] | 0x20) <= 'z')) {
        *cp = (uint32_t)p->s[p->at + 1] & 31, p->at += 2;
    } else if (c >= '1' && c <= '9') {
        stop(p, RN_E_UNSUPPORTED, "back references are not supported");
    } else if (c == 'b' || c == 'B') {
        stop(p, RN_E_UNSUPPORTED, "word boundaries (\\b, \\B) are not supported");
    } else if (c == 'p' || c == 'P') {
        stop(p, RN_E_UNSUPPORTED, "properties of characters (\\p) are not supported");
    } else if (c == 'A' || c == 'Z' || c == 'z') {
        stop(p, RN_E_UNSUPPORTED, "\\A, \\Z and \\z are not supported: use ^ and $");
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        stop(p, RN_E_ARG, "an unknown escape");
    } else {
        *cp = read_char(p);
    }
    return false;
}

static uint32_t add_set(struct parser *p, struct char_set *s) {
    char_set_settle(s);
    const expr_id x = chars_expr(p->e, s, p->coding);
    char_set_free(s);
    if (p->e->status != RN_OK && p->st == RN_OK) p->st = exprs_status(p->e, p->err);
    return add(p, (struct rnode){.kind = R_SET, .a = x});
}

static uint32_t read_class(struct parser *p) {
    struct char_set s = {0};
    const bool is_inverted = take(p, "^");
    while (more(p) && peek(p) != ']') {
        uint32_t from = 0, to;
        bool is_class = false;
        if (take(p, "\\b"))
            from = '\b';
        else if (take(p, "\\"))
            is_class = read_escape(p, &s, &from);
        else
            from = read_char(p);
        if (is_class) continue;
        to = from;
        if (peek(p) == '-' && p->at + 1 < p->n && p->s[p->at + 1] != ']') {
            p->at++;
            if (take(p, "\\")) {
                if (read_escape(p, &s, &to)) { // a-\d: three things
                    char_set_add(&s, '-', '-');
                    to = from;
                }
            } else {
                to = read_char(p);
            }
            if (to < from) stop(p, RN_E_ARG, "a range of characters is in the wrong order");
        }
        char_set_add(&s, from, to);
    }
    if (!take(p, "]")) stop(p, RN_E_ARG, "a [ without its ]");
    if (is_inverted) char_set_invert(&s);
    return add_set(p, &s);
}

// ---- structure ----

static uint32_t read_alt(struct parser *p);

// {m}, {m,} or {m,n}. False: it is none, and the brace stands for itself.
static bool read_bounds(struct parser *p, uint32_t *min, uint32_t *max) {
    size_t i = p->at + 1;
    uint64_t v[2] = {0, 0};
    int n_values = 0;
    bool has_comma = false, has_digits[2] = {false, false};
    for (; i < p->n && p->s[i] != '}'; i++) {
        if (p->s[i] == ',' && !has_comma) {
            has_comma = true, n_values = 1;
        } else if (p->s[i] >= '0' && p->s[i] <= '9') {
            has_digits[n_values] = true;
            if (v[n_values] <= MAX_REPEAT) v[n_values] = v[n_values] * 10 + (uint64_t)(p->s[i] - '0');
        } else {
            return false;
        }
    }
    if (i >= p->n || (!has_digits[0] && !(has_comma && has_digits[1]))) return false;
    if (v[0] > MAX_REPEAT || v[1] > MAX_REPEAT) return stop(p, RN_E_LIMIT, "more than 100000 repetitions"), true;
    *min = (uint32_t)v[0];
    *max = !has_comma ? *min : has_digits[1] ? (uint32_t)v[1] : EXPR_NO_MAX;
    if (*max < *min) stop(p, RN_E_ARG, "the bounds of a repetition are in the wrong order");
    p->at = i + 1;
    return true;
}

static uint32_t read_group(struct parser *p) {
    enum kind look = R_EMPTY;
    if (take(p, "?")) {
        if (take(p, "="))
            look = R_LOOK;
        else if (take(p, "!"))
            look = R_NOT_LOOK;
        else if (take(p, "<=") || take(p, "<!"))
            return stop(p, RN_E_UNSUPPORTED, "lookbehinds are not supported");
        else if (take(p, "P<") || take(p, "<")) {
            while (more(p) && peek(p) != '>') p->at++;
            if (!take(p, ">")) return stop(p, RN_E_ARG, "the name of a group does not end");
        } else if (!take(p, ":"))
            return stop(p, RN_E_UNSUPPORTED, "this kind of group is not supported");
    }
    if (++p->nested > MAX_NESTED) return stop(p, RN_E_LIMIT, "more than 200 groups within each other");
    const uint32_t x = read_alt(p);
    p->nested--;
    if (!take(p, ")")) return stop(p, RN_E_ARG, "a ( without its )");
    return look == R_EMPTY ? x : add(p, (struct rnode){.kind = look, .a = x});
}

static uint32_t read_atom(struct parser *p) {
    struct char_set s = {0};
    uint32_t cp;
    if (take(p, "(")) return read_group(p);
    if (take(p, "[")) return read_class(p);
    if (take(p, "^")) return add(p, (struct rnode){.kind = R_BEGIN});
    if (take(p, "$")) return add(p, (struct rnode){.kind = R_END});
    if (take(p, ".")) {
        for (size_t i = 0; i < sizeof line_ends / sizeof *line_ends; i++)
            char_set_add(&s, line_ends[i].from, line_ends[i].to);
        char_set_invert(&s);
        return add_set(p, &s);
    }
    if (strchr("*+?", peek(p)) && peek(p)) return stop(p, RN_E_ARG, "a quantifier with nothing before it");
    if (take(p, "\\")) {
        if (read_escape(p, &s, &cp)) return add_set(p, &s);
    } else {
        cp = read_char(p);
    }
    char_set_add(&s, cp, cp);
    return add_set(p, &s);
}

static uint32_t read_piece(struct parser *p) {
    uint32_t x = read_atom(p), min = 1, max = 1;
    for (int n = 0; more(p); n++) {
        if (take(p, "*"))
            min = 0, max = EXPR_NO_MAX;
        else if (take(p, "+"))
            min = 1, max = EXPR_NO_MAX;
        else if (take(p, "?"))
            min = 0, max = 1;
        else if (peek(p) != '{' || !read_bounds(p, &min, &max))
            break;
        if (n > 0) return stop(p, RN_E_ARG, "a quantifier after a quantifier");
        take(p, "?");
        if (peek(p) == '+') return stop(p, RN_E_UNSUPPORTED, "possessive quantifiers are not supported");
        x = add(p, (struct rnode){.kind = R_REPEAT, .a = x, .min = min, .max = max});
    }
    return x;
}

static uint32_t read_cat(struct parser *p) {
    uint32_t x = add(p, (struct rnode){.kind = R_EMPTY});
    while (more(p) && peek(p) != '|' && peek(p) != ')') {
        const uint32_t y = read_piece(p);
        if (p->st == RN_OK)
            x = p->nodes[x].kind == R_EMPTY ? y : add(p, (struct rnode){.kind = R_CAT, .a = x, .b = y});
    }
    return x;
}

static uint32_t read_alt(struct parser *p) {
    uint32_t x = read_cat(p);
    while (take(p, "|")) {
        const uint32_t y = read_cat(p);
        x = add(p, (struct rnode){.kind = R_ALT, .a = x, .b = y});
    }
    return x;
}

// ---- translation ----

struct maker {
    const struct parser *p;
    struct exprs *e;
    expr_id all; // any text
    bool failed; // an assertion where it cannot be translated
};

static expr_id plain(struct maker *m, uint32_t at) {
    const struct rnode x = m->p->nodes[at];
    switch (x.kind) {
    case R_SET: return x.a;
    case R_CAT: {
        const expr_id b = plain(m, x.b);
        return expr_cat(m->e, plain(m, x.a), b);
    }
    case R_ALT: return expr_or2(m->e, plain(m, x.a), plain(m, x.b));
    case R_REPEAT: return expr_repeat(m->e, plain(m, x.a), x.min, x.max);
    default: return EXPR_EMPTY;
    }
}

static bool has_begin(const struct parser *p, uint32_t at) {
    const struct rnode x = p->nodes[at];
    if (x.kind == R_BEGIN) return true;
    if (!x.asserts) return false;
    return (x.kind != R_END && has_begin(p, x.a)) || ((x.kind == R_CAT || x.kind == R_ALT) && has_begin(p, x.b));
}

// The texts that the node matches and that go on with `rest`. at_start: nothing was consumed before.
static expr_id followed(struct maker *m, uint32_t at, expr_id rest, bool at_start) {
    const struct rnode x = m->p->nodes[at];
    if (!x.asserts) return expr_cat(m->e, plain(m, at), rest);
    switch (x.kind) {
    case R_BEGIN: return at_start ? rest : (expr_id)EXPR_NEVER;
    case R_END: return expr_nullable(m->e, rest) ? EXPR_EMPTY : EXPR_NEVER;
    case R_LOOK: return expr_and2(m->e, followed(m, x.a, m->all, at_start), rest);
    case R_NOT_LOOK: return expr_and2(m->e, expr_not(m->e, followed(m, x.a, m->all, at_start)), rest);
    case R_ALT: return expr_or2(m->e, followed(m, x.a, rest, at_start), followed(m, x.b, rest, at_start));
    case R_CAT: {
        const struct rnode a = m->p->nodes[x.a];
        if (has_begin(m->p, x.b) && at_start && !a.is_bare && !a.consumes)
            m->failed = true; // it may or may not be the start
        return followed(m, x.a, followed(m, x.b, rest, at_start && a.is_bare), at_start);
    }
    case R_REPEAT:
        if (x.max == 0) return rest;
        if (x.max == 1)
            return expr_or2(m->e, x.min == 0 ? rest : (expr_id)EXPR_NEVER, followed(m, x.a, rest, at_start));
        m->failed = true;
        return EXPR_NEVER;
    default: return EXPR_NEVER;
    }
}

rn_status regex_expr(struct exprs *e, const char *s, size_t n, enum regex_match match, enum coding coding,
                     expr_id *out, rn_error *err) {
    struct parser p = {.e = e, .s = s, .n = n, .coding = coding, .err = err};
    if (n > MAX_BYTES) return fail(err, RN_E_LIMIT, "a pattern of %zu bytes: at most %d", n, MAX_BYTES);
    const uint32_t root = read_alt(&p);
    if (p.st == RN_OK && p.at < p.n) stop(&p, RN_E_ARG, "a ) without its (");
    if (p.st == RN_OK) {
        const expr_id one = chars_any(e, coding);
        struct maker m = {.p = &p, .e = e, .all = expr_repeat(e, one, 0, EXPR_NO_MAX)};
        const expr_id rest = match == REGEX_SEARCH ? m.all : (expr_id)EXPR_EMPTY;
        *out = followed(&m, root, rest, true);
        if (match == REGEX_SEARCH) { // and further on
            const expr_id later = followed(&m, root, rest, false);
            *out = expr_or2(e, *out, expr_cat(e, has_begin(&p, root) ? expr_cat(e, one, m.all) : m.all, later));
        }
        if (e->status != RN_OK)
            p.st = exprs_status(e, err);
        else if (m.failed)
            p.st = fail(err, RN_E_UNSUPPORTED,
                        "^, $ or a lookahead is not supported within a repetition or after what may be empty");
    }
    mem_free(p.nodes);
    return p.st;
}
