// grammar/text/lark_parser.c - reads Lark; see grammar_text.h.
#include "grammar/text/lark_parser.h"
#include "base/mem.h"
#include "grammar/regex.h"
#include "text/utf8.h"

void lark_next(struct lark *l) { l->tok = lark_lex(&l->t, l->tok.at + l->tok.n); }
bool lark_at(const struct lark *l, const char *text) {
    return l->tok.kind != LARK_END && lark_is(&l->t, l->tok, text);
}

bool lark_take(struct lark *l, const char *text) {
    if (!lark_at(l, text)) return false;
    lark_next(l);
    return true;
}

uint32_t lark_expected(struct lark *l, const char *what) {
    const char *const s = l->t.s + l->tok.at;
    const int n = l->tok.n < 40 ? (int)l->tok.n : 40;
    if (l->tok.kind == LARK_END)
        return text_stop(&l->t, RN_E_ARG, l->tok.at, "the grammar ends where %s is expected", what);
    if (l->tok.kind == LARK_NEWLINE)
        return text_stop(&l->t, RN_E_ARG, l->tok.at, "the line ends where %s is expected", what);
    return text_stop(&l->t, RN_E_ARG, l->tok.at, "%.*s where %s is expected", n, s, what);
}

void lark_want(struct lark *l, const char *text) {
    if (!lark_take(l, text)) lark_expected(l, text);
}

static bool is_kind(const struct lark *l, enum lark_kind kind) { return l->tok.kind == kind; }

static bool is_digits(const struct lark *l, struct lark_token x) {
    for (uint32_t i = 0; i < x.n; i++)
        if (l->t.s[x.at + i] < '0' || l->t.s[x.at + i] > '9') return false;
    return x.n > 0;
}

// A whole number that is not negative.
static uint32_t read_count(struct lark *l) {
    if (!is_kind(l, LARK_NUMBER)) return lark_expected(l, "a number"), 0;
    if (!is_digits(l, l->tok))
        return text_stop(&l->t, RN_E_ARG, l->tok.at, "%.*s is no number of repetitions", (int)l->tok.n,
                         l->t.s + l->tok.at),
               0;
    l->t.at = l->tok.at;
    const uint32_t v = text_count(&l->t);
    lark_next(l);
    return v;
}

// ---- terminals ----

static uint32_t read_regex(struct lark *l, struct lark_token x) {
    struct text_tree *const t = &l->t;
    struct regex_options o = {.match = REGEX_WHOLE, .coding = CODING_UTF8, .dialect = REGEX_RUST};
    uint32_t end = x.at + x.n - 1;
    for (; t->s[end] != '/'; end--) {
        if (t->s[end] == 'l')
            return text_stop(t, RN_E_UNSUPPORTED, end, "flag l of a regular expression is not supported");
        if (t->s[end] == 'i') o.ignore_case = true;
        if (t->s[end] == 's') o.dot_all = true;
        if (t->s[end] == 'm') o.multi_line = true;
        if (t->s[end] == 'x') o.verbose = true;
    }
    const uint32_t n = end - x.at - 1;
    rn_error why = {0};
    expr_id e = EXPR_NEVER;
    const rn_status st = regex_compile(t->e, t->s + x.at + 1, n, &o, &e, &why);
    if (st == RN_E_NOMEM || t->e->status != RN_OK) return text_ok(t), text_stop(t, st, x.at, "%s", why.text);
    if (st != RN_OK) return text_stop(t, st, x.at, "%.*s: %s", (int)(x.n < 60 ? x.n : 60), t->s + x.at, why.text);
    return text_expr(t, x.at, e, n);
}

// The texts of a string; with flag i in either case of each letter.
static uint32_t read_literal(struct lark *l, struct lark_token x) {
    struct text_tree *const t = &l->t;
    bool ignores_case;
    char *const s = mem_alloc(2 * (size_t)x.n + 8);
    if (!s) return text_stop(t, RN_E_NOMEM, x.at, "out of memory");
    const size_t n = lark_string(t, x, s, &ignores_case);
    expr_id e = EXPR_NEVER;
    rn_status st = t->st;
    rn_error why = {0};
    if (st == RN_OK && ignores_case)
        st = regex_any_case(t->e, s, n, &e, &why);
    else if (st == RN_OK)
        e = expr_text(t->e, s, n);
    mem_free(s);
    if (st != RN_OK) return text_stop(t, st, x.at, "%s", why.text);
    return text_expr(t, x.at, e, (uint32_t)n);
}

// "a".."z"
static uint32_t read_range(struct lark *l, struct lark_token from, struct lark_token to) {
    struct text_tree *const t = &l->t;
    struct char_range range = {0, 0};
    const struct lark_token of[2] = {from, to};
    for (int i = 0; i < 2 && t->st == RN_OK; i++) {
        char s[64];
        bool ignores_case;
        const size_t n = of[i].n <= 16 ? lark_string(t, of[i], s, &ignores_case) : 0;
        int len = 0;
        const uint32_t cp = n && utf8_char_len(s, n) > 0 ? utf8_decode(s, n, &len) : 0;
        if (n == 0 || (size_t)len != n || ignores_case)
            return text_stop(t, RN_E_ARG, of[i].at, "an end of a range is not one character");
        if (i == 0) range.from = cp;
        range.to = cp;
    }
    if (range.to < range.from) return text_stop(t, RN_E_ARG, from.at, "a range of characters is in the wrong order");
    struct char_set set = {.ranges = &range, .n = 1, .max = 1};
    return t->st == RN_OK ? text_expr(t, from.at, chars_expr(t->e, &set, CODING_UTF8), 1) : TEXT_NONE;
}

// ---- special tokens ----

enum { MAX_RANGES = 256 };

static bool read_id(const struct text_tree *t, uint32_t *at, uint32_t *id) {
    const uint32_t begin = *at;
    uint64_t v = 0;
    for (; t->s[*at] >= '0' && t->s[*at] <= '9'; ++*at)
        if (v <= INT32_MAX) v = v * 10 + (uint64_t)(t->s[*at] - '0');
    *id = v > INT32_MAX ? INT32_MAX : (uint32_t)v;
    return *at > begin;
}

// <name>, <[1]>, <[1-4,7]>, <[^1-4]> or <[*]>
static uint32_t read_token(struct text_tree *t, struct lark_token x) {
    struct token_range ranges[MAX_RANGES];
    uint32_t n = 0, at = x.at + 2;
    const uint32_t end = x.at + x.n - 2;
    if (t->s[x.at + 1] != '[' || x.n < 4 || t->s[end] != ']') return text_token_named(t, x.at, x.n, false);
    if (end == at + 1 && t->s[at] == '*') return text_tokens(t, x.at, NULL, 0, true);
    const bool any_other = t->s[at] == '^' && at++;
    while (at < end) {
        struct token_range *const r = &ranges[n];
        if (n++ >= MAX_RANGES) return text_stop(t, RN_E_LIMIT, x.at, "more than %d ranges of tokens", MAX_RANGES);
        bool ok = read_id(t, &at, &r->from);
        r->to = r->from;
        if (ok && t->s[at] == '-') at++, ok = read_id(t, &at, &r->to);
        if (!ok || r->to < r->from || (at < end && t->s[at] != ','))
            return text_stop(t, RN_E_ARG, x.at, "%.*s is no range of tokens", (int)x.n, t->s + x.at);
        at += at < end;
    }
    if (n == 0) return text_stop(t, RN_E_ARG, x.at, "%.*s names no token", (int)x.n, t->s + x.at);
    return text_tokens(t, x.at, ranges, n, any_other);
}

// ---- values ----

static uint32_t read_name(struct lark *l) {
    struct text_tree *const t = &l->t;
    const struct lark_token x = l->tok;
    if (t->s[x.at] == '!' || t->s[x.at] == '?')
        return text_stop(
            t, RN_E_ARG, x.at,
            "%c stands before a rule's name in its definition only; after a symbol write a space behind it",
            t->s[x.at]);
    lark_next(l);
    const uint32_t def = text_def(t, t->s + x.at, x.n, x.at);
    if (def == TEXT_NONE) return TEXT_NONE;
    t->defs[def].is_terminal = x.kind == LARK_TERMINAL;
    uint32_t argument = TEXT_NONE;
    if (lark_take(l, "::")) argument = lark_param(l);
    if (lark_at(l, "{")) { // {, and {12 begin a repetition
        const struct lark_token next = lark_lex(t, l->tok.at + 1);
        if (next.kind != LARK_NUMBER && !lark_is(t, next, ","))
            return text_stop(t, RN_E_UNSUPPORTED, x.at, "templates are not supported: %.*s{...}", (int)x.n,
                             t->s + x.at);
    }
    return text_node(t, (struct text_node){.kind = TEXT_REF, .a = def, .b = argument, .at = x.at});
}

static uint32_t read_directive_value(struct lark *l) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at;
    if (lark_at(l, "%json")) return lark_json(l);
    if (lark_at(l, "%regex")) return lark_structured_regex(l);
    if (lark_at(l, "%lark")) return lark_nested(l);
    if (lark_at(l, "%if")) return text_stop(t, RN_E_ARG, at, "%%if stands at the end of an alternative");
    return lark_expected(l, "a symbol");
}

// A name, a string, a regular expression, a token, %json ...
static uint32_t read_value(struct lark *l) {
    struct text_tree *const t = &l->t;
    const struct lark_token x = l->tok;
    switch (x.kind) {
    case LARK_RULE:
    case LARK_TERMINAL: return read_name(l);
    case LARK_STRING:
        lark_next(l);
        if (lark_take(l, "..")) {
            const struct lark_token to = l->tok;
            if (to.kind != LARK_STRING) return lark_expected(l, "a string");
            lark_next(l);
            return read_range(l, x, to);
        }
        return read_literal(l, x);
    case LARK_REGEX: lark_next(l); return read_regex(l, x);
    case LARK_TOKEN: lark_next(l); return read_token(t, x);
    case LARK_GRAMMAR:
        return text_stop(t, RN_E_UNSUPPORTED, x.at, "other grammars are not supported: %.*s",
                         (int)(x.n < 40 ? x.n : 40), t->s + x.at);
    case LARK_DIRECTIVE: return read_directive_value(l);
    default: return lark_expected(l, "a symbol");
    }
}

static uint32_t read_group(struct lark *l, const char *close) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at;
    if (++t->nested > GRAMMAR_TEXT_MAX_NESTED)
        return text_stop(t, RN_E_LIMIT, at, "more than %d groups within each other", GRAMMAR_TEXT_MAX_NESTED);
    lark_next(l);
    const uint32_t node = lark_alternatives(l);
    t->nested--;
    if (t->st == RN_OK) lark_want(l, close);
    return node;
}

static uint32_t read_atom(struct lark *l) {
    const uint32_t at = l->tok.at;
    if (lark_at(l, "(")) return read_group(l, ")");
    if (lark_at(l, "[")) {
        const uint32_t node = read_group(l, "]");
        return text_repeat(&l->t, at, node, 0, 1);
    }
    return read_value(l);
}

// {m}, {m,}, {,n} or {m,n}
static void read_bounds(struct lark *l, uint32_t *min, uint32_t *max) {
    lark_want(l, "{");
    *max = *min = lark_at(l, ",") ? 0 : read_count(l);
    if (lark_take(l, ",")) *max = lark_at(l, "}") ? EXPR_NO_MAX : read_count(l);
    lark_want(l, "}");
}

static uint32_t read_piece(struct lark *l) {
    struct text_tree *const t = &l->t;
    const uint32_t at = l->tok.at;
    const bool is_negated = lark_take(l, "~");
    uint32_t node = read_atom(l), min = 0, max = 0;
    const uint32_t op = l->tok.at;
    if (t->st != RN_OK) return TEXT_NONE;
    if (is_negated) node = text_node(t, (struct text_node){.kind = TEXT_NOT, .a = node, .at = at});
    if (lark_at(l, "~") && lark_lex(t, op + 1).kind == LARK_NUMBER) {
        lark_next(l);
        max = min = read_count(l);
        if (lark_take(l, "..")) max = read_count(l);
    } else if (lark_at(l, "{")) {
        read_bounds(l, &min, &max);
    } else if (lark_at(l, "*") || lark_at(l, "+") || lark_at(l, "?")) {
        min = lark_at(l, "+"), max = lark_at(l, "?") ? 1 : EXPR_NO_MAX;
        lark_next(l);
        if (lark_at(l, "*") || lark_at(l, "+") || lark_at(l, "?") || lark_at(l, "{"))
            return text_stop(t, RN_E_ARG, l->tok.at,
                             "a repetition after a repetition: put the first one into parentheses");
    } else {
        return node;
    }
    return text_repeat(t, op, node, min, max);
}

static bool ends_sequence(const struct lark *l) {
    static const char *const ends[] = {"|", "->", "}", ")", "]", "&", "%if"};
    if (l->t.st != RN_OK || is_kind(l, LARK_END) || is_kind(l, LARK_NEWLINE)) return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (lark_at(l, ends[i])) return true;
    return false;
}

static uint32_t read_sequence(struct lark *l) {
    const uint32_t from = l->t.n_stack, at = l->tok.at;
    while (!ends_sequence(l)) text_push(&l->t, read_piece(l));
    return text_list(&l->t, TEXT_SEQ, from, at);
}

static uint32_t read_alternative(struct lark *l) {
    struct text_tree *const t = &l->t;
    const uint32_t from = t->n_stack, at = l->tok.at;
    do text_push(t, read_sequence(l));
    while (lark_take(l, "&"));
    uint32_t node = text_list(t, TEXT_AND, from, at);
    if (lark_take(l, "->")) { // names the alternative in a tree, which nothing makes here
        if (is_kind(l, LARK_RULE))
            lark_next(l);
        else
            lark_expected(l, "a name");
    }
    if (lark_at(l, "%if")) {
        const uint32_t place = l->tok.at;
        lark_next(l);
        const uint32_t condition = lark_condition(l);
        if (t->st == RN_OK)
            node = text_node(t, (struct text_node){.kind = TEXT_IF, .a = node, .b = condition, .at = place});
    }
    return node;
}

// A | at the beginning of the next line goes on.
static bool take_bar(struct lark *l) {
    if (is_kind(l, LARK_NEWLINE)) {
        const struct lark_token next = lark_lex(&l->t, l->tok.at + l->tok.n);
        if (next.kind != LARK_END && lark_is(&l->t, next, "|")) l->tok = next;
    }
    return lark_take(l, "|");
}

uint32_t lark_alternatives(struct lark *l) {
    const uint32_t from = l->t.n_stack, at = l->tok.at;
    do text_push(&l->t, read_alternative(l));
    while (l->t.st == RN_OK && take_bar(l));
    return text_list(&l->t, TEXT_ALT, from, at);
}

// ---- definitions ----

static struct text_def *begin_def(struct lark *l, struct lark_token x) {
    struct text_tree *const t = &l->t;
    while (t->s[x.at] == '!' || t->s[x.at] == '?') x.at++, x.n--;
    const uint32_t def = text_def(t, t->s + x.at, x.n, x.at);
    if (def == TEXT_NONE) return NULL;
    l->def = def;
    struct text_def *const d = &t->defs[def];
    if (d->at != TEXT_NONE)
        return text_stop(t, RN_E_ARG, x.at, "\"%.*s\" is defined twice", (int)x.n, t->s + x.at), NULL;
    d->is_terminal = x.kind == LARK_TERMINAL, d->at = x.at, d->nodes = t->n_nodes;
    return d;
}

static void read_definition(struct lark *l) {
    struct text_tree *const t = &l->t;
    const struct lark_token name = l->tok;
    struct text_def *const d = begin_def(l, name);
    if (!d) return;
    const uint32_t def = l->def;
    lark_next(l);
    if (lark_take(l, "::")) {
        lark_want(l, "_");
        d->has_param = true;
        if (d->is_terminal) text_stop(t, RN_E_ARG, name.at, "a terminal has no parameter");
    }
    if (lark_at(l, "{"))
        text_stop(t, RN_E_UNSUPPORTED, name.at, "templates are not supported: %.*s{...}", (int)name.n,
                  t->s + name.at);
    if (lark_take(l, ".")) { // a priority
        if (is_kind(l, LARK_NUMBER))
            lark_next(l);
        else
            lark_expected(l, "a priority");
    }
    if (lark_at(l, "[")) lark_attributes(l, def);
    lark_want(l, ":");
    const uint32_t body = t->st == RN_OK ? lark_alternatives(l) : TEXT_NONE;
    if (t->st == RN_OK) t->defs[def].body = body, t->defs[def].end_nodes = t->n_nodes;
}

// Rules, terminals and directives up to the end of the text or the } of %lark.
void lark_items(struct lark *l) {
    struct text_tree *const t = &l->t;
    while (text_ok(t) && !is_kind(l, LARK_END) && !lark_at(l, "}")) {
        if (is_kind(l, LARK_NEWLINE)) {
            lark_next(l);
            continue;
        }
        if (is_kind(l, LARK_RULE) || is_kind(l, LARK_TERMINAL))
            read_definition(l);
        else if (is_kind(l, LARK_DIRECTIVE))
            lark_statement(l);
        else
            lark_expected(l, "a rule, a terminal or a directive");
        if (t->st == RN_OK && !is_kind(l, LARK_NEWLINE) && !is_kind(l, LARK_END) && !lark_at(l, "}"))
            lark_expected(l, "the end of the line");
    }
}

uint32_t lark_value(struct lark *l) { return read_value(l); }

rn_status lark_compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                       uint32_t *start, rn_error *err) {
    struct lark l = {0};
    text_tree_init(&l.t, r, s, n, o, err);
    text_scope(&l.t);
    const uint32_t first = text_def(&l.t, "start", 5, 0);
    if (text_ok(&l.t)) {
        l.tok = lark_lex(&l.t, 0);
        lark_items(&l);
    }
    if (text_ok(&l.t) && lark_at(&l, "}")) lark_expected(&l, "a rule, a terminal or a directive");
    if (text_ok(&l.t) && l.t.defs[first].at == TEXT_NONE)
        text_stop(&l.t, RN_E_ARG, l.t.n, "there is no rule \"start\"");
    const rn_status st = text_ok(&l.t) ? text_build(&l.t, first, start) : l.t.st;
    text_tree_free(&l.t);
    return st;
}
