// grammar/text/gbnf.c - reads GBNF; see grammar_text.h.
#include "grammar/text/text_tree.h"
#include "text/utf8.h"

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static char look(const struct text_tree *t) { return t->at < t->n ? t->s[t->at] : 0; }

// Spaces and comments; line ends, too, where a rule goes on behind them.
static void skip_space(struct text_tree *t, bool lines) {
    for (; t->at < t->n; t->at++) {
        const char c = t->s[t->at];
        if (c == '#')
            while (t->at + 1 < t->n && t->s[t->at + 1] != '\n' && t->s[t->at + 1] != '\r') t->at++;
        else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r')))
            return;
    }
}

static void expected(struct text_tree *t, const char *what) {
    int n;
    const char *const word = text_word(t, t->at, &n);
    const bool is_line_end = t->at < t->n && (*word == '\n' || *word == '\r');
    text_stop(t, RN_E_ARG, t->at,
              is_line_end ? "the line ends where %s is expected" : "%3$.*2$s where %1$s is expected", what, n, word);
}

static bool take(struct text_tree *t, char c, const char *what) {
    if (look(t) == c && t->at < t->n) return t->at++, true;
    return expected(t, what), false;
}

static uint32_t read_name(struct text_tree *t) {
    const uint32_t at = t->at;
    while (is_name(look(t))) t->at++;
    if (t->at == at) return expected(t, "a rule's name"), TEXT_NONE;
    return text_def(t, t->s + at, t->at - at, at);
}

static uint32_t read_hex(struct text_tree *t, uint32_t at, int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; i++, t->at++) {
        const char c = look(t);
        const int d = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
        if (d < 0) return text_stop(t, RN_E_ARG, at, "an escape has too few hexadecimal digits: %d of %d", i, n), 0;
        v = v << 4 | (uint32_t)d;
    }
    if (v > CHAR_MAX_CP || (v >= 0xd800 && v <= 0xdfff))
        return text_stop(t, RN_E_ARG, at, "U+%04X is no character", v), 0;
    return v;
}

// A character of a literal or class.
static uint32_t read_char(struct text_tree *t) {
    static const char from[] = "trn\\\"[]-", to[] = "\t\r\n\\\"[]-";
    const uint32_t at = t->at;
    if (at >= t->n) return 0;
    if (t->s[at] != '\\') {
        int len;
        const uint32_t cp = utf8_decode(t->s + at, t->n - at, &len);
        return t->at += (uint32_t)len, cp;
    }
    const char c = at + 1 < t->n ? t->s[at + 1] : 0;
    t->at += 2;
    if (c == 'x') return read_hex(t, at, 2);
    if (c == 'u') return read_hex(t, at, 4);
    if (c == 'U') return read_hex(t, at, 8);
    const char *const p = c ? strchr(from, c) : NULL;
    if (p) return (uint8_t)to[p - from];
    int n;
    const char *const word = text_word(t, at + 1, &n);
    if (at + 1 >= t->n) return text_stop(t, RN_E_ARG, at, "a backslash at the end"), 0;
    return text_stop(t, RN_E_ARG, at, "unknown escape \\%.*s", n < 4 ? n : 1, word), 0;
}

static uint32_t read_literal(struct text_tree *t) {
    const uint32_t at = t->at++, from = t->n_stack;
    while (t->st == RN_OK && look(t) != '"') {
        if (t->at >= t->n) return text_stop(t, RN_E_ARG, at, "a \" without its end");
        text_push(t, read_char(t));
    }
    t->at++;
    expr_id x = EXPR_EMPTY;
    if (t->st != RN_OK) return TEXT_NONE;
    for (uint32_t i = t->n_stack; i-- > from;) {
        char bytes[4];
        x = expr_cat(t->e, expr_text(t->e, bytes, (size_t)utf8_encode(t->stack[i], bytes)), x);
    }
    const uint32_t weight = t->n_stack - from;
    t->n_stack = from;
    return text_expr(t, at, x, weight);
}

static uint32_t read_class(struct text_tree *t) {
    const uint32_t at = t->at++;
    struct char_set set = {0};
    const bool is_inverted = look(t) == '^' && t->at++;
    const uint32_t first = t->at;
    while (t->st == RN_OK && look(t) != ']') {
        if (t->at >= t->n) text_stop(t, RN_E_ARG, at, "a [ without its ]");
        const uint32_t place = t->at, from = read_char(t);
        uint32_t to = from;
        if (look(t) == '-' && t->at + 1 < t->n && t->s[t->at + 1] != ']') t->at++, to = read_char(t);
        if (to < from)
            text_stop(t, RN_E_ARG, place, "a range of characters is in the wrong order: %.*s", (int)(t->at - place),
                      t->s + place);
        char_set_add(&set, from, to);
    }
    if (t->at++ == first) text_stop(t, RN_E_ARG, at, "an empty class");
    if (is_inverted) char_set_invert(&set);
    char_set_settle(&set);
    const expr_id x = t->st == RN_OK ? chars_expr(t->e, &set, CODING_UTF8) : (expr_id)EXPR_NEVER;
    char_set_free(&set);
    return text_expr(t, at, x, 1);
}

// <[ID]> or <text>; after !, any other token.
static uint32_t read_token(struct text_tree *t) {
    const uint32_t at = t->at;
    const bool any_other = look(t) == '!' && t->at++;
    const uint32_t begin = t->at;
    if (!take(t, '<', "< of a token")) return TEXT_NONE;
    if (look(t) == '[') {
        uint64_t id = 0;
        for (t->at++; look(t) >= '0' && look(t) <= '9'; t->at++)
            if (id <= UINT32_MAX) id = id * 10 + (uint64_t)(look(t) - '0');
        if (t->at == begin + 2) return expected(t, "a token's id"), TEXT_NONE;
        if (!take(t, ']', "]") || !take(t, '>', ">")) return TEXT_NONE;
        if (id > INT32_MAX) return text_stop(t, RN_E_ARG, at, "a token's id is at most %d", INT32_MAX);
        return text_tokens(t, at, &(struct token_range){(uint32_t)id, (uint32_t)id}, 1, any_other);
    }
    while (t->at < t->n && look(t) != '>' && look(t) != '\n') t->at++;
    if (!take(t, '>', "the > of a token")) return TEXT_NONE;
    return text_token_named(t, begin, t->at - begin, any_other);
}

// {m}, {m,} or {m,n}
static void read_bounds(struct text_tree *t, bool lines, uint32_t *min, uint32_t *max) {
    t->at++;
    skip_space(t, lines);
    *max = *min = text_count(t);
    skip_space(t, lines);
    if (look(t) == ',') {
        t->at++;
        skip_space(t, lines);
        *max = look(t) >= '0' && look(t) <= '9' ? text_count(t) : EXPR_NO_MAX;
        skip_space(t, lines);
    }
    if (t->st == RN_OK) take(t, '}', "}");
}

static uint32_t read_alternatives(struct text_tree *t, bool is_group);

static uint32_t read_group(struct text_tree *t) {
    const uint32_t at = t->at++;
    if (++t->nested > GRAMMAR_TEXT_MAX_NESTED)
        return text_stop(t, RN_E_LIMIT, at, "more than %d groups within each other", GRAMMAR_TEXT_MAX_NESTED);
    skip_space(t, true);
    const uint32_t node = read_alternatives(t, true);
    t->nested--;
    if (t->st == RN_OK && look(t) != ')') {
        if (t->at >= t->n) return text_stop(t, RN_E_ARG, at, "a ( without its )");
        expected(t, "| or )");
    }
    t->at++;
    return node;
}

// Symbols up to |, ) or the end of the line.
static uint32_t read_sequence(struct text_tree *t, bool is_group) {
    const uint32_t from = t->n_stack, begin = t->at;
    while (t->st == RN_OK) {
        const char c = look(t);
        const uint32_t at = t->at;
        if (strchr("*+?{", c) && c) {
            uint32_t min = c == '+', max = c == '?' ? 1 : EXPR_NO_MAX;
            if (t->n_stack == from) return text_stop(t, RN_E_ARG, at, "%c with nothing before it", c);
            if (c == '{')
                read_bounds(t, is_group, &min, &max);
            else
                t->at++;
            t->stack[t->n_stack - 1] = text_repeat(t, at, t->stack[t->n_stack - 1], min, max);
        } else if (c == '"') {
            text_push(t, read_literal(t));
        } else if (c == '[') {
            text_push(t, read_class(t));
        } else if (c == '(') {
            text_push(t, read_group(t));
        } else if (c == '.') {
            t->at++;
            text_push(t, text_expr(t, at, chars_any(t->e, CODING_UTF8), 1));
        } else if (c == '<' || c == '!') {
            text_push(t, read_token(t));
        } else if (is_name(c)) {
            const uint32_t def = read_name(t);
            text_push(t, text_node(t, (struct text_node){.kind = TEXT_REF, .a = def, .b = TEXT_NONE, .at = at}));
        } else {
            break;
        }
        skip_space(t, is_group);
    }
    return text_list(t, TEXT_SEQ, from, begin);
}

static uint32_t read_alternatives(struct text_tree *t, bool is_group) {
    const uint32_t from = t->n_stack, begin = t->at;
    text_push(t, read_sequence(t, is_group));
    while (t->st == RN_OK && look(t) == '|') {
        t->at++;
        skip_space(t, true);
        text_push(t, read_sequence(t, is_group));
    }
    return text_list(t, TEXT_ALT, from, begin);
}

static void read_rule(struct text_tree *t) {
    const uint32_t at = t->at;
    if (look(t) == '|') {
        text_stop(t, RN_E_ARG, at,
                  "| at the beginning of a line: put it at the end of the line before, or the rule into parentheses");
        return;
    }
    const uint32_t def = read_name(t);
    skip_space(t, false);
    for (int i = 0; i < 3 && t->st == RN_OK; i++) take(t, "::="[i], "::=");
    if (t->st != RN_OK) return;
    if (t->defs[def].at != TEXT_NONE) {
        text_stop(t, RN_E_ARG, at, "\"%.*s\" is defined twice", (int)t->defs[def].n_name, t->defs[def].name);
        return;
    }
    t->defs[def].at = at, t->defs[def].nodes = t->n_nodes;
    skip_space(t, true);
    const uint32_t body = read_alternatives(t, false);
    t->defs[def].body = body, t->defs[def].end_nodes = t->n_nodes;
    if (t->st == RN_OK && t->at < t->n && look(t) != '\n' && look(t) != '\r')
        expected(t, "a symbol or the end of the line");
    skip_space(t, true);
}

rn_status gbnf_compile(struct rules *r, const char *s, size_t n, const struct grammar_text_options *o,
                       uint32_t *start, rn_error *err) {
    struct text_tree t;
    text_tree_init(&t, r, s, n, o, err);
    text_scope(&t);
    skip_space(&t, true);
    const uint32_t root = text_def(&t, "root", 4, 0);
    while (text_ok(&t) && t.at < t.n) read_rule(&t);
    if (text_ok(&t) && t.defs[root].at == TEXT_NONE) text_stop(&t, RN_E_ARG, t.n, "there is no rule \"root\"");
    const rn_status st = text_ok(&t) ? text_build(&t, root, start) : t.st;
    text_tree_free(&t);
    return st;
}
