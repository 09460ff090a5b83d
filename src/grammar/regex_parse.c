// grammar/regex_parse.c - the structure of regular expressions: see regex_tree.h.
#include "base/mem.h"
#include "grammar/regex_tree.h"
#include "text/utf8.h"

enum { MAX_NESTED = 200, MAX_DEPTH = 500, MAX_REPEAT = 100000, MAX_BYTES = 8192, MAX_RANGES = 1 << 20 };

uint32_t regex_stop(struct regex_tree *t, rn_status st, const char *why) {
    if (t->st == RN_OK) {
        size_t n_chars = 1;
        for (size_t i = 0; i < t->at && i < t->n; i++) n_chars += ((uint8_t)t->s[i] & 0xc0) != 0x80;
        t->st = fail(t->err, st, "%s (at character %zu)", why, n_chars);
    }
    return 0;
}

void regex_tree_free(struct regex_tree *t) {
    mem_free(t->nodes), mem_free(t->ranges);
    unicode_cases_free(&t->cases), unicode_table_free(&t->table);
}

static uint16_t deeper(uint16_t a, uint16_t b) { return (uint16_t)((a > b ? a : b) + 1); }

// Fills what follows from the parts.
static void describe(struct regex_node *x, const struct regex_node *a, const struct regex_node *b) {
    switch (x->kind) {
    case R_EMPTY: x->is_bare = true; break;
    case R_SET: x->consumes = x->is_next = true; break;
    case R_END: x->asserts = x->is_bare = x->is_next = true; break;
    case R_BEGIN:
    case R_LINE_BEGIN:
    case R_LINE_END:
    case R_WORD:
    case R_NOT_WORD: x->asserts = x->is_bare = true; break;
    case R_LOOK:
    case R_NOT_LOOK: x->asserts = x->is_bare = true, x->looks = !a->is_next, x->depth = deeper(a->depth, 0); break;
    case R_BEHIND:
    case R_NOT_BEHIND: x->asserts = x->is_bare = true, x->depth = deeper(a->depth, 0); break;
    case R_POSSESSIVE: x->asserts = x->looks = true, x->consumes = x->min > 0; break;
    case R_REPEAT:
        x->asserts = a->asserts, x->looks = a->looks, x->depth = deeper(a->depth, 0);
        x->consumes = a->consumes && x->min > 0, x->is_bare = a->is_bare || x->max == 0;
        x->is_next = a->is_next && a->consumes && x->min == 1;
        break;
    case R_CAT:
    case R_ALT:
        x->asserts = a->asserts || b->asserts, x->looks = a->looks || b->looks;
        x->is_bare = a->is_bare && b->is_bare;
        x->consumes = x->kind == R_CAT ? a->consumes || b->consumes : a->consumes && b->consumes;
        // a.* and a: what may be empty asks for nothing
        x->is_next =
            a->is_next && (x->kind == R_ALT ? b->is_next : b->kind == R_REPEAT && b->min == 0 && !b->asserts);
        x->depth = a->depth > b->depth + 1 ? a->depth : deeper(b->depth, 0);
        break;
    }
}

uint32_t regex_node(struct regex_tree *t, struct regex_node x) {
    if (t->st != RN_OK) return 0;
    if (!mem_grow(&t->nodes, t->n_nodes, &t->max_nodes, 64, sizeof *t->nodes))
        return regex_stop(t, RN_E_NOMEM, "out of memory");
    describe(&x, x.a < t->n_nodes ? &t->nodes[x.a] : NULL, x.b < t->n_nodes ? &t->nodes[x.b] : NULL);
    if (x.depth > MAX_DEPTH) return regex_stop(t, RN_E_LIMIT, "more than 500 operators within each other");
    t->nodes[t->n_nodes] = x;
    return t->n_nodes++;
}

static bool keep_ranges(struct regex_tree *t, const struct char_set *s) {
    if (t->n_ranges + s->n > MAX_RANGES)
        return regex_stop(t, RN_E_LIMIT, "classes of more than 1048576 ranges together"), false;
    while (t->n_ranges + s->n > t->max_ranges) {
        const uint32_t max = t->max_ranges ? t->max_ranges * 2 : 64;
        struct char_range *const q = mem_realloc(t->ranges, max * sizeof *q);
        if (!q) return regex_stop(t, RN_E_NOMEM, "out of memory"), false;
        t->ranges = q, t->max_ranges = max;
    }
    if (s->n) memcpy(t->ranges + t->n_ranges, s->ranges, s->n * sizeof *s->ranges);
    t->n_ranges += s->n;
    return true;
}

static uint32_t add_set(struct regex_tree *t, struct char_set *s) {
    const uint32_t first = t->n_ranges;
    char_set_settle(s);
    if (s->failed) regex_stop(t, RN_E_NOMEM, "out of memory");
    const expr_id x = t->st == RN_OK && keep_ranges(t, s) ? chars_expr(t->e, s, t->coding) : (expr_id)EXPR_NEVER;
    char_set_free(s);
    if (t->e->status != RN_OK && t->st == RN_OK) t->st = exprs_status(t->e, t->err);
    return regex_node(t, (struct regex_node){.kind = R_SET, .a = x, .min = first, .max = t->n_ranges});
}

static uint32_t add_char(struct regex_tree *t, uint32_t cp) {
    struct char_set s = {0};
    char_set_add(&s, cp, cp);
    if (t->flags.ignore_case) {
        if (!t->cases.pairs && !unicode_cases_init(&t->cases)) s.failed = true;
        unicode_fold(&t->cases, &s);
    }
    return add_set(t, &s);
}

// ---- structure ----

static uint32_t read_alt(struct regex_tree *t);

static void skip_verbose(struct regex_tree *t) {
    while (t->flags.verbose && regex_more(t)) {
        const char c = regex_peek(t);
        if (c == '#')
            while (regex_more(t) && regex_peek(t) != '\n') t->at++;
        else if (c != ' ' && (c < '\t' || c > '\r'))
            return;
        else
            t->at++;
    }
}

// {m}, {m,}, {m,n}, and {,n} but in ECMA. False: it is none, and the brace stands for itself.
static bool read_bounds(struct regex_tree *t, uint32_t *min, uint32_t *max) {
    size_t i = t->at + 1;
    uint64_t v[2] = {0, 0};
    int n_values = 0;
    bool has_comma = false, has_digits[2] = {false, false};
    for (; i < t->n && t->s[i] != '}'; i++) {
        if (t->s[i] == ',' && !has_comma) {
            has_comma = true, n_values = 1;
        } else if (t->s[i] >= '0' && t->s[i] <= '9') {
            has_digits[n_values] = true;
            if (v[n_values] <= MAX_REPEAT) v[n_values] = v[n_values] * 10 + (uint64_t)(t->s[i] - '0');
        } else {
            return false;
        }
    }
    if (i >= t->n || (!has_digits[0] && !(has_comma && has_digits[1] && t->dialect != REGEX_ECMA))) return false;
    if (v[0] > MAX_REPEAT || v[1] > MAX_REPEAT)
        return regex_stop(t, RN_E_LIMIT, "more than 100000 repetitions"), true;
    *min = (uint32_t)v[0];
    *max = !has_comma ? *min : has_digits[1] ? (uint32_t)v[1] : EXPR_NO_MAX;
    if (*max < *min) regex_stop(t, RN_E_ARG, "the bounds of a repetition are in the wrong order");
    t->at = i + 1;
    return true;
}

// i, -s, im-sx ... up to : or ). Returns false after stopping.
static bool read_flags(struct regex_tree *t) {
    struct regex_flags *const f = &t->flags;
    bool on = true;
    for (;; t->at++) {
        const char c = regex_peek(t);
        if (t->at >= t->n) return regex_stop(t, RN_E_ARG, "a ( without its )"), false;
        if (c == ':' || c == ')') return true;
        if (c == '-' && on)
            on = false;
        else if (c == 'i')
            f->ignore_case = on;
        else if (c == 'm')
            f->multi_line = on;
        else if (c == 's')
            f->dot_all = on;
        else if (c == 'x')
            f->verbose = on;
        else if (c == 'a' && on && t->dialect == REGEX_PYTHON)
            f->ascii = true;
        else if (c == 'u' && t->dialect != REGEX_ECMA)
            f->ascii = !on;
        else if (c != 'U' || t->dialect != REGEX_RUST)
            return regex_stop(t, RN_E_UNSUPPORTED, "this kind of group or flag is not supported"), false;
    }
}

// After (?. False: the group is no group of its own: a comment, or flags for what follows.
static bool read_group_kind(struct regex_tree *t, enum regex_kind *look, bool *is_atomic) {
    if (regex_take(t, "=")) return *look = R_LOOK, true;
    if (regex_take(t, "!")) return *look = R_NOT_LOOK, true;
    if (regex_take(t, "<=") || regex_take(t, "<!")) {
        if (t->dialect == REGEX_RUST) regex_stop(t, RN_E_UNSUPPORTED, "lookbehinds are not supported");
        return *look = t->s[t->at - 1] == '=' ? R_BEHIND : R_NOT_BEHIND, true;
    }
    if (regex_take(t, "P=")) return regex_stop(t, RN_E_UNSUPPORTED, "back references are not supported"), true;
    if (regex_take(t, ">")) return *is_atomic = true;
    if (regex_take(t, "P<") || regex_take(t, "<")) {
        while (regex_more(t) && regex_peek(t) != '>') t->at++;
        if (!regex_take(t, ">")) regex_stop(t, RN_E_ARG, "the name of a group does not end");
        return true;
    }
    if (t->dialect == REGEX_PYTHON && regex_take(t, "#")) {
        while (regex_more(t) && regex_peek(t) != ')') t->at++;
        return false;
    }
    if (!read_flags(t)) return true;
    return regex_take(t, ":");
}

// Only ^ may be asserted within a lookbehind, and not in a repetition.
static bool may_stand_behind(const struct regex_tree *t, uint32_t at, bool is_repeated) {
    for (;; at = t->nodes[at].a) {
        const struct regex_node x = t->nodes[at];
        if (!x.asserts) return true;
        if (x.kind == R_BEGIN) return !is_repeated;
        if (x.kind != R_CAT && x.kind != R_ALT && x.kind != R_REPEAT) return false;
        is_repeated |= x.kind == R_REPEAT;
        if (x.kind != R_REPEAT && !may_stand_behind(t, x.b, is_repeated)) return false;
    }
}

static uint32_t add_behind(struct regex_tree *t, enum regex_kind kind, uint32_t inner) {
    if (t->st != RN_OK) return 0;
    if (!may_stand_behind(t, inner, false))
        return regex_stop(t, RN_E_UNSUPPORTED, "assertions other than ^ within a lookbehind are not supported");
    if (t->n_behinds == REGEX_MAX_BEHINDS)
        return regex_stop(t, RN_E_UNSUPPORTED, "more than 4 lookbehinds are not supported");
    t->behinds[t->n_behinds] = (struct regex_behind){inner, t->at};
    return regex_node(t, (struct regex_node){.kind = kind, .a = inner, .min = t->n_behinds++});
}

static uint32_t read_group(struct regex_tree *t) {
    enum regex_kind look = R_EMPTY;
    bool is_atomic = false;
    const struct regex_flags outer = t->flags;
    if (regex_take(t, "?") && !read_group_kind(t, &look, &is_atomic)) {
        if (!regex_take(t, ")")) return regex_stop(t, RN_E_ARG, "a ( without its )");
        return regex_node(t, (struct regex_node){.kind = R_EMPTY});
    }
    if (++t->nested > MAX_NESTED) return regex_stop(t, RN_E_LIMIT, "more than 200 groups within each other");
    const uint32_t x = read_alt(t);
    t->nested--;
    t->flags = outer;
    if (!regex_take(t, ")")) return regex_stop(t, RN_E_ARG, "a ( without its )");
    if (is_atomic && t->st == RN_OK && t->nodes[x].kind != R_SET && t->nodes[x].kind != R_POSSESSIVE)
        return regex_stop(t, RN_E_UNSUPPORTED, "atomic groups are not supported");
    if (look == R_BEHIND || look == R_NOT_BEHIND) return add_behind(t, look, x);
    return look == R_EMPTY ? x : regex_node(t, (struct regex_node){.kind = look, .a = x});
}

static uint32_t read_word_boundary(struct regex_tree *t, enum regex_kind kind) {
    if (t->has_words && t->words_are_ascii != t->flags.ascii)
        return regex_stop(t, RN_E_UNSUPPORTED, "word boundaries of two kinds are not supported");
    t->has_words = true, t->words_are_ascii = t->flags.ascii;
    return regex_node(t, (struct regex_node){.kind = kind});
}

// $ of Python matches before a line feed at the end, too.
static uint32_t read_end(struct regex_tree *t) {
    if (t->flags.multi_line) return t->has_lines = true, regex_node(t, (struct regex_node){.kind = R_LINE_END});
    const uint32_t end = regex_node(t, (struct regex_node){.kind = R_END});
    if (t->dialect != REGEX_PYTHON) return end;
    struct char_set s = {0};
    char_set_add(&s, '\n', '\n');
    const uint32_t line = add_set(t, &s),
                   last = regex_node(t, (struct regex_node){.kind = R_CAT, .a = line, .b = end});
    const uint32_t look = regex_node(t, (struct regex_node){.kind = R_LOOK, .a = last});
    return regex_node(t, (struct regex_node){.kind = R_ALT, .a = end, .b = look});
}

static uint32_t read_atom(struct regex_tree *t) {
    struct char_set s = {0};
    uint32_t cp;
    if (regex_take(t, "(")) return read_group(t);
    if (regex_take(t, "[")) {
        regex_read_class(t, &s);
        return add_set(t, &s);
    }
    if (regex_take(t, "^")) {
        t->has_lines |= t->flags.multi_line;
        return regex_node(t, (struct regex_node){.kind = t->flags.multi_line ? R_LINE_BEGIN : R_BEGIN});
    }
    if (regex_take(t, "$")) return read_end(t);
    if (regex_take(t, "\\b")) return read_word_boundary(t, R_WORD);
    if (regex_take(t, "\\B")) return read_word_boundary(t, R_NOT_WORD);
    if (t->dialect != REGEX_ECMA && regex_take(t, "\\A")) return regex_node(t, (struct regex_node){.kind = R_BEGIN});
    if ((t->dialect == REGEX_PYTHON && regex_take(t, "\\Z")) || (t->dialect != REGEX_ECMA && regex_take(t, "\\z")))
        return regex_node(t, (struct regex_node){.kind = R_END});
    if (regex_take(t, ".")) {
        if (!t->flags.dot_all) regex_add_line_ends(&s, t->dialect);
        char_set_invert(&s);
        return add_set(t, &s);
    }
    uint32_t min, max;
    if ((regex_peek(t) && strchr("*+?", regex_peek(t))) || (regex_peek(t) == '{' && read_bounds(t, &min, &max)))
        return regex_stop(t, RN_E_ARG, "a quantifier with nothing before it");
    if (!regex_take(t, "\\")) return add_char(t, regex_read_char(t));
    const int named = regex_named_class(regex_peek(t));
    struct regex_node *const known = named >= 0 ? &t->named[named][t->flags.ascii] : NULL;
    if (known && known->max > known->min) return t->at++, regex_node(t, *known);
    if (!regex_read_escape(t, &s, &cp, false)) return add_char(t, cp);
    const uint32_t x = add_set(t, &s);
    if (known && t->st == RN_OK) *known = t->nodes[x];
    return x;
}

static uint32_t add_possessive(struct regex_tree *t, uint32_t x, uint32_t min, uint32_t max) {
    if (t->st != RN_OK) return 0;
    if (t->nodes[x].kind != R_SET)
        return regex_stop(t, RN_E_UNSUPPORTED, "possessive quantifiers are supported after one character only");
    return regex_node(t, (struct regex_node){.kind = R_POSSESSIVE, .a = x, .min = min, .max = max});
}

static uint32_t read_piece(struct regex_tree *t) {
    const char first = regex_peek(t), second = t->at + 1 < t->n ? t->s[t->at + 1] : 0;
    const bool is_assertion = first == '^' || first == '$' || (first == '\\' && second && strchr("bBAZz", second));
    uint32_t x = read_atom(t), min = 1, max = 1;
    for (int n = 0; regex_more(t); n++) {
        skip_verbose(t);
        if (regex_take(t, "*"))
            min = 0, max = EXPR_NO_MAX;
        else if (regex_take(t, "+"))
            min = 1, max = EXPR_NO_MAX;
        else if (regex_take(t, "?"))
            min = 0, max = 1;
        else if (regex_peek(t) != '{' || !read_bounds(t, &min, &max))
            break;
        if (n > 0 && t->dialect != REGEX_RUST) return regex_stop(t, RN_E_ARG, "a quantifier after a quantifier");
        if (n > MAX_NESTED) return regex_stop(t, RN_E_LIMIT, "more than 200 quantifiers after each other");
        if (is_assertion && t->dialect != REGEX_RUST)
            return regex_stop(t, RN_E_ARG, "a quantifier after an assertion");
        if (t->dialect == REGEX_PYTHON && regex_take(t, "+")) {
            x = add_possessive(t, x, min, max);
            continue;
        }
        if (regex_peek(t) == '+' && t->dialect == REGEX_ECMA)
            return regex_stop(t, RN_E_UNSUPPORTED, "possessive quantifiers are not supported");
        regex_take(t, "?");
        x = regex_node(t, (struct regex_node){.kind = R_REPEAT, .a = x, .min = min, .max = max});
    }
    return x;
}

// A sequence is a tree that leans to the left, as an alternation is: whoever walks it goes along the left side in a loop.
static uint32_t read_cat(struct regex_tree *t) {
    uint32_t x = regex_node(t, (struct regex_node){.kind = R_EMPTY});
    for (skip_verbose(t); regex_more(t) && regex_peek(t) != '|' && regex_peek(t) != ')'; skip_verbose(t)) {
        const uint32_t y = read_piece(t);
        if (t->st == RN_OK)
            x = t->nodes[x].kind == R_EMPTY ? y : regex_node(t, (struct regex_node){.kind = R_CAT, .a = x, .b = y});
    }
    return x;
}

static uint32_t read_alt(struct regex_tree *t) {
    uint32_t x = read_cat(t);
    while (regex_take(t, "|")) {
        const uint32_t y = read_cat(t);
        x = regex_node(t, (struct regex_node){.kind = R_ALT, .a = x, .b = y});
    }
    return x;
}

uint32_t regex_parse(struct regex_tree *t) {
    if (t->n > MAX_BYTES)
        return t->st = fail(t->err, RN_E_LIMIT, "a pattern of %zu bytes: at most %d", t->n, MAX_BYTES), 0;
    if (!utf8_valid(t->s, t->n)) return t->st = fail(t->err, RN_E_ARG, "a pattern that is not UTF-8"), 0;
    const uint32_t root = read_alt(t);
    if (t->st == RN_OK && t->at < t->n) regex_stop(t, RN_E_ARG, "a ) without its (");
    return root;
}
