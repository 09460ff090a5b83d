// grammar/text/lark_lexer.c - see lark_lexer.h.
#include "grammar/text/lark_lexer.h"
#include "text/utf8.h"

static char char_at(const struct text_tree *t, uint32_t at) { return at < t->n ? t->s[at] : 0; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool lark_is(const struct text_tree *t, struct lark_token x, const char *text) {
    return x.n == strlen(text) && memcmp(t->s + x.at, text, x.n) == 0;
}

static uint32_t line_end(const struct text_tree *t, uint32_t at) {
    while (at < t->n && t->s[at] != '\n') at++;
    return at;
}

static uint32_t comment_end(const struct text_tree *t, uint32_t at) {
    const bool is_comment = char_at(t, at) == '#' || (char_at(t, at) == '/' && char_at(t, at + 1) == '/');
    return is_comment ? line_end(t, at) : at;
}

static uint32_t space_end(const struct text_tree *t, uint32_t at) {
    for (;;) {
        const char c = char_at(t, at);
        const uint32_t end =
            c == ' ' || c == '\t' || (c == '\r' && char_at(t, at + 1) == '\n') ? at + 1 : comment_end(t, at);
        if (end == at) return at;
        at = end;
    }
}

static struct lark_token bad(struct text_tree *t, uint32_t at, const char *why) {
    text_stop(t, RN_E_ARG, at, "%s", why);
    return (struct lark_token){LARK_END, at, 0};
}

// rule-name or TERMINAL-NAME; _ alone is a mark.
static struct lark_token lex_name(struct text_tree *t, uint32_t at) {
    uint32_t i = at;
    if (char_at(t, i) == '!') i++;
    if (char_at(t, i) == '?') i++;
    if (char_at(t, i) == '_') i++;
    const bool upper = is_upper(char_at(t, i));
    if (!upper && !is_lower(char_at(t, i))) return (struct lark_token){LARK_MARK, at, 1};
    const uint32_t first = i;
    for (char c; (c = char_at(t, i)) != 0; i++) {
        if (is_lower(c) || is_upper(c)) {
            if (is_upper(c) != upper)
                return bad(t, first, "a name in both cases: a rule's is in lower case, a terminal's in upper case");
        } else if (!is_digit(c) && c != '_' && (c != '-' || char_at(t, i + 1) == '>')) {
            break;
        }
    }
    return (struct lark_token){upper ? LARK_TERMINAL : LARK_RULE, at, i - at};
}

static struct lark_token lex_string(struct text_tree *t, uint32_t at) {
    uint32_t i = at + 1;
    for (; char_at(t, i) != '"'; i++) {
        const char c = char_at(t, i);
        if (i >= t->n || c == '\n' || c == '\r') return bad(t, at, "a \" without its end");
        if ((uint8_t)c < 0x20 || c == 0x7f) return bad(t, i, "a control character in a string: write an escape");
        i += c == '\\';
    }
    i++;
    if (char_at(t, i) == 'i') i++;
    if (is_lower(char_at(t, i)) || is_upper(char_at(t, i)))
        return bad(t, i, "an unknown flag of a string: only i is known");
    return (struct lark_token){LARK_STRING, at, i - at};
}

static struct lark_token lex_regex(struct text_tree *t, uint32_t at) {
    uint32_t i = at + 1;
    for (; char_at(t, i) != '/'; i++) {
        if (i >= t->n || (char_at(t, i) == '\\' && (i + 1 >= t->n || char_at(t, i + 1) == '\n')))
            return bad(t, at, "a / without its end");
        i += char_at(t, i) == '\\';
    }
    for (i++; char_at(t, i) && strchr("imslux", char_at(t, i)); i++) {
    }
    if (is_lower(char_at(t, i)) || is_upper(char_at(t, i)))
        return bad(t, i, "an unknown flag of a regular expression");
    return (struct lark_token){LARK_REGEX, at, i - at};
}

static struct lark_token lex_number(const struct text_tree *t, uint32_t at) {
    uint32_t i = at + (char_at(t, at) == '-' || char_at(t, at) == '+');
    if (char_at(t, i) == '0' && (char_at(t, i + 1) | 0x20) == 'x') {
        for (i += 2; is_digit(char_at(t, i)) || ((char_at(t, i) | 0x20) >= 'a' && (char_at(t, i) | 0x20) <= 'f');
             i++) {
        }
        return (struct lark_token){LARK_HEX, at, i - at};
    }
    while (is_digit(char_at(t, i))) i++;
    if (char_at(t, i) == '.' && is_digit(char_at(t, i + 1)))
        for (i++; is_digit(char_at(t, i)); i++) {
        }
    return (struct lark_token){LARK_NUMBER, at, i - at};
}

// <...>, @name, %name: a mark and what follows.
static struct lark_token lex_marked(struct text_tree *t, uint32_t at) {
    uint32_t i = at + 1;
    if (t->s[at] == '<') {
        for (char c; (c = char_at(t, i)) != '>'; i++)
            if (i >= t->n || c == '<' || c == ' ' || c == '\t' || c == '\n' || c == '\r')
                return bad(t, at, "a token <...> does not end");
        if (i == at + 1) return bad(t, at, "a token without a name");
        return (struct lark_token){LARK_TOKEN, at, i + 1 - at};
    }
    while (is_lower(char_at(t, i)) || is_upper(char_at(t, i)) || is_digit(char_at(t, i)) || char_at(t, i) == '_' ||
           char_at(t, i) == '-')
        i++;
    if (i == at + 1) return bad(t, at, t->s[at] == '%' ? "a % without a directive" : "an @ without a name");
    return (struct lark_token){t->s[at] == '%' ? LARK_DIRECTIVE : LARK_GRAMMAR, at, i - at};
}

struct lark_token lark_lex(struct text_tree *t, uint32_t at) {
    at = space_end(t, at);
    if (t->st != RN_OK || at >= t->n) return (struct lark_token){LARK_END, t->n, 0};
    const char c = t->s[at], next = char_at(t, at + 1);
    if (c == '\n') { // with all empty lines that follow, and comments
        uint32_t end = at;
        while (char_at(t, end) == '\n') end = space_end(t, end + 1);
        return (struct lark_token){LARK_NEWLINE, at, end - at};
    }
    if (c == '"') return lex_string(t, at);
    if (c == '/') return lex_regex(t, at);
    if (is_digit(c) || ((c == '-' || c == '+') && is_digit(next))) return lex_number(t, at);
    if (c == '<' || c == '@' || c == '%') return lex_marked(t, at);
    if (is_lower(c) || is_upper(c) || c == '_' || c == '!' || (c == '?' && (is_lower(next) || next == '_'))) {
        const struct lark_token x = lex_name(t, at);
        if (x.kind != LARK_MARK || c == '_') return x;
        return bad(t, at, "a ! without the name of a rule");
    }
    if ((c == '-' && next == '>') || (c == '.' && next == '.') || (c == ':' && next == ':'))
        return (struct lark_token){LARK_MARK, at, 2};
    if (strchr(":=,.(){}[]~|&+*?", c)) return (struct lark_token){LARK_MARK, at, 1};
    int n;
    const char *const word = text_word(t, at, &n);
    text_stop(t, RN_E_ARG, at, "%.*s is nothing that Lark knows", n, word);
    return (struct lark_token){LARK_END, at, 0};
}

// Behind the string that begins at a place.
static uint32_t json_string_end(const struct text_tree *t, uint32_t at) {
    for (at++; at < t->n && t->s[at] != '"'; at++)
        if (t->s[at] == '\\') at++;
    return at < t->n ? at + 1 : TEXT_NONE;
}

uint32_t lark_json_end(struct text_tree *t, uint32_t *at) {
    uint32_t i = *at, depth = 0;
    while (char_at(t, i) == ' ' || char_at(t, i) == '\t' || char_at(t, i) == '\n' || char_at(t, i) == '\r') i++;
    *at = i;
    while (i < t->n) {
        const char c = t->s[i];
        if (c == '"') {
            i = json_string_end(t, i);
            if (depth == 0 && i != TEXT_NONE) return i;
            continue;
        }
        const bool closes = c == '}' || c == ']';
        if (depth == 0 && !is_lower(c) && !is_digit(c) && !strchr("-.{[", c))
            return i; // behind true, false, a number
        depth += c == '{' || c == '[';
        i++;
        if (closes && --depth == 0) return i;
    }
    if (depth > 0 || i == TEXT_NONE) return text_stop(t, RN_E_ARG, *at, "JSON that does not end"), t->n;
    return t->n;
}

static uint32_t hex(struct text_tree *t, uint32_t at, uint32_t n) {
    uint32_t v = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char c = char_at(t, at + i);
        const int d = is_digit(c) ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
        if (d < 0)
            return text_stop(t, RN_E_ARG, at - 2, "an escape has too few hexadecimal digits: %u of %u", i, n), 0;
        v = v << 4 | (uint32_t)d;
    }
    return v;
}

// \uXXXX, with the second half of a pair.
static uint32_t read_unicode(struct text_tree *t, uint32_t *at) {
    const uint32_t v = hex(t, *at, 4), place = *at - 2;
    *at += 4;
    if (v < 0xd800 || v > 0xdfff) return v;
    const bool is_pair = v < 0xdc00 && char_at(t, *at) == '\\' && char_at(t, *at + 1) == 'u';
    const uint32_t low = is_pair ? hex(t, *at + 2, 4) : 0;
    if (low < 0xdc00 || low > 0xdfff) return text_stop(t, RN_E_ARG, place, "half of a surrogate pair"), 0;
    *at += 6;
    return 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
}

size_t lark_string(struct text_tree *t, struct lark_token x, char *out, bool *ignores_case) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const bool has_flag = t->s[x.at + x.n - 1] == 'i';
    const uint32_t end = x.at + x.n - 1 - has_flag;
    size_t n = 0;
    *ignores_case = has_flag;
    for (uint32_t i = x.at + 1; i < end && t->st == RN_OK;) {
        if (t->s[i] != '\\') {
            out[n++] = t->s[i++];
            continue;
        }
        const char c = t->s[i + 1];
        const char *const p = c ? strchr(from, c) : NULL;
        uint32_t cp = 0;
        i += 2;
        if (p)
            cp = (uint8_t)to[p - from];
        else if (c == 'x')
            cp = hex(t, i, 2), i += 2;
        else if (c == 'u')
            cp = read_unicode(t, &i);
        else
            text_stop(t, RN_E_ARG, i - 2, "unknown escape \\%c in a string", (uint8_t)c < 0x80 ? c : '?');
        if (t->st == RN_OK) n += (size_t)utf8_encode(cp, out + n);
    }
    return n;
}
