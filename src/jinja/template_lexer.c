// jinja/template_lexer.c - see template_lexer.h. Numbers and strings: template_literals.c.
#include "jinja/template_lexer.h"
#include "base/status.h"
#include "jinja/py_chars.h"
#include "jinja/template_literals.h"
#include <stdarg.h>
#include <stdio.h>

void template_position(const chat_template *t, size_t at, size_t *line, size_t *column) {
    size_t begin = 0;
    *line = 1;
    for (size_t i = 0; i < at && i < t->n_source; i++)
        if (t->source[i] == '\n') begin = i + 1, ++*line;
    *column = 1 + py_count_chars(t->source + begin, (at < t->n_source ? at : t->n_source) - begin);
}

rn_status template_fail_at(const chat_template *t, size_t at, rn_error *err, rn_status code, const char *fmt, ...) {
    char why[sizeof err->text];
    size_t line, column;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    template_position(t, at, &line, &column);
    return fail(err, code, "%s: line %zu, column %zu: %s", t->name, line, column, why);
}

void lexer_begin(struct lexer *x, chat_template *t, rn_error *err) {
    *x = (struct lexer){.t = t, .err = err, .inside = TOKEN_TEXT, .line_starts = true};
}

// ---- looking at the source ----------------------------------------------------------------------

static char byte_at(const struct lexer *x, size_t at) { return at < x->t->n_source ? x->t->source[at] : 0; }

static bool is_here(const struct lexer *x, size_t at, const char *what) {
    const size_t n = strlen(what);
    return x->t->n_source - at >= n && memcmp(x->t->source + at, what, n) == 0;
}

static size_t skip_space(const struct lexer *x, size_t at) {
    int len;
    while (at < x->t->n_source && py_is(PY_SPACE, py_char(x->t->source + at, x->t->n_source - at, &len)))
        at += (size_t)len;
    return at;
}

// The end of the text [begin, end) without white space at its end.
static size_t strip_end(const char *s, size_t begin, size_t end) {
    int len;
    while (end > begin) {
        const size_t n = py_char_len_before(s + begin, end - begin);
        if (!py_is(PY_SPACE, py_char(s + end - n, n, &len))) break;
        end -= n;
    }
    return end;
}

// If a tag ends at `at`, returns the position after it, else 0. close: "%}", "}}" or "#}".
static size_t tag_end(const struct lexer *x, size_t at, const char *close) {
    const bool has_sign = byte_at(x, at) == '-' || (byte_at(x, at) == '+' && close[0] != '}');
    const size_t end = at + has_sign + 2;
    if (at + has_sign > x->t->n_source || !is_here(x, at + has_sign, close)) return 0;
    if (byte_at(x, at) == '-') return skip_space(x, end);
    const bool trims = !has_sign && close[0] != '}' && byte_at(x, end) == '\n'; // trim_blocks
    return end + trims;
}

static void go_to(struct lexer *x, size_t pos) {
    x->line_starts = pos > 0 && x->t->source[pos - 1] == '\n';
    x->pos = pos;
}

// ---- text ---------------------------------------------------------------------------------------

// The end of the text [begin, end) before a tag with this sign, without the white space that the
// tag strips.
static size_t text_end(const struct lexer *x, size_t begin, size_t end, char sign, bool is_print) {
    const char *const s = x->t->source;
    if (sign == '-') return strip_end(s, begin, end);
    if (sign == '+' || is_print) return end;
    size_t line = end; // lstrip_blocks
    while (line > begin && s[line - 1] != '\n') line--;
    if (line == begin && !x->line_starts) return end;
    return strip_end(s, line, end) == line ? line : end;
}

// If a raw block begins at `at`, returns the position after its tag, else 0.
static size_t raw_begin(const struct lexer *x, size_t at) {
    at += 2;
    if (byte_at(x, at) == '-' || byte_at(x, at) == '+') at++;
    at = skip_space(x, at);
    if (!is_here(x, at, "raw")) return 0;
    at = skip_space(x, at + 3);
    if (is_here(x, at, "-%}")) return skip_space(x, at + 3);
    return is_here(x, at, "%}") ? at + 2 : 0;
}

// If the end tag of a raw block is at `at`, returns the position after it, else 0.
static size_t raw_end(const struct lexer *x, size_t at) {
    at += 2;
    if (byte_at(x, at) == '-' || byte_at(x, at) == '+') at++;
    at = skip_space(x, at);
    return is_here(x, at, "endraw") ? tag_end(x, skip_space(x, at + 6), "%}") : 0;
}

static void set_text(struct token *out, const struct lexer *x, size_t begin, size_t end) {
    *out = (struct token){.kind = TOKEN_TEXT, .at = begin, .s = x->t->source + begin, .n = end - begin};
}

static size_t find(const struct lexer *x, size_t from, const char *what) {
    const char *const hit = memmem(x->t->source + from, x->t->n_source - from, what, strlen(what));
    return hit ? (size_t)(hit - x->t->source) : x->t->n_source;
}

// Reads the text of a raw block; x->pos is after its opening tag.
static rn_status next_raw(struct lexer *x, size_t tag, struct token *out) {
    const size_t begin = x->pos;
    for (size_t at = find(x, begin, "{%"); at < x->t->n_source; at = find(x, at + 1, "{%")) {
        const size_t end = raw_end(x, at);
        if (!end) continue;
        set_text(out, x, begin, text_end(x, begin, at, byte_at(x, at + 2), false));
        go_to(x, end);
        return RN_OK;
    }
    set_text(out, x, begin, begin);
    if (begin == x->t->n_source) return RN_OK; // like Jinja, which reports the missing end only if text follows
    return template_fail_at(x->t, tag, x->err, RN_E_FORMAT, "a raw block is not closed");
}

static rn_status skip_comment(struct lexer *x, size_t tag) {
    const size_t begin = tag + 2 + (byte_at(x, tag + 2) == '-' || byte_at(x, tag + 2) == '+');
    if (begin >= x->t->n_source)
        return x->pos = x->t->n_source, RN_OK; // like Jinja, which reports the missing end only if text follows
    const size_t close = find(x, begin, "#}");
    if (close == x->t->n_source) return template_fail_at(x->t, tag, x->err, RN_E_FORMAT, "a comment is not closed");
    const bool has_sign = close > begin && (byte_at(x, close - 1) == '-' || byte_at(x, close - 1) == '+');
    go_to(x, tag_end(x, close - has_sign, "#}"));
    return RN_OK;
}

// Finds the next "{%", "{{" or "{#".
static size_t find_tag(const struct lexer *x) {
    for (size_t at = x->pos;; at++) {
        const char *const hit = memchr(x->t->source + at, '{', x->t->n_source - at);
        if (!hit) return x->t->n_source;
        at = (size_t)(hit - x->t->source);
        const char c = byte_at(x, at + 1);
        if (c == '%' || c == '{' || c == '#') return at;
    }
}

// Outside tags: reads text or the beginning of a tag. *out is an empty text if something was
// skipped.
static rn_status next_outside(struct lexer *x, struct token *out) {
    const size_t begin = x->pos, tag = find_tag(x);
    const char kind = byte_at(x, tag + 1), sign = byte_at(x, tag + 2);
    if (tag == x->t->n_source) {
        set_text(out, x, begin, tag);
        if (begin == tag) out->kind = TOKEN_END;
        x->pos = tag;
        return RN_OK;
    }
    set_text(out, x, begin, text_end(x, begin, tag, sign, kind == '{'));
    x->pos = tag;
    if (out->n > 0) return RN_OK;
    const size_t raw = kind == '%' ? raw_begin(x, tag) : 0;
    if (raw) {
        go_to(x, raw);
        return next_raw(x, tag, out);
    }
    if (kind == '#') return skip_comment(x, tag);
    x->inside = kind == '%' ? TOKEN_BLOCK_BEGIN : TOKEN_PRINT_BEGIN;
    *out = (struct token){.kind = x->inside, .at = tag};
    x->pos = tag + 2 + (sign == '-' || sign == '+');
    x->line_starts = false;
    return RN_OK;
}

// ---- tags ---------------------------------------------------------------------------------------

static rn_status check_bracket(struct lexer *x, char c, size_t at) {
    static const char opening[] = "([{", closing[] = ")]}";
    const char *hit = strchr(opening, c);
    if (hit) {
        if (x->n_open == sizeof x->open)
            return template_fail_at(x->t, at, x->err, RN_E_LIMIT, "brackets nested deeper than %d",
                                    TEMPLATE_MAX_NESTING);
        x->open[x->n_open++] = closing[hit - opening];
        return RN_OK;
    }
    if (!strchr(closing, c)) return RN_OK;
    if (x->n_open == 0) return template_fail_at(x->t, at, x->err, RN_E_FORMAT, "unexpected '%c'", c);
    const char want = x->open[--x->n_open];
    if (want == c) return RN_OK;
    return template_fail_at(x->t, at, x->err, RN_E_FORMAT, "unexpected '%c', expected '%c'", c, want);
}

static rn_status next_operator(struct lexer *x, struct token *out) {
    static const struct {
        char text[3], op;
    } operators[] = {{"//", 'f'}, {"**", 'p'}, {"==", 'e'}, {"!=", 'n'}, {">=", 'g'}, {"<=", 'l'}};
    const size_t at = x->pos;
    const char c = byte_at(x, at);
    *out = (struct token){.kind = TOKEN_OPERATOR, .at = at, .s = x->t->source + at};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is_here(x, at, operators[i].text)) {
            out->op = operators[i].op;
            out->n = 2;
            x->pos += 2;
            return RN_OK;
        }
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c))
        return template_fail_at(x->t, at, x->err, RN_E_FORMAT, "unexpected character '%.*s'",
                                (int)py_char_len(x->t->source + at, x->t->n_source - at), x->t->source + at);
    out->op = c;
    out->n = 1;
    x->pos++;
    return check_bracket(x, c, at);
}

static bool next_name(struct lexer *x, struct token *out) {
    const size_t begin = x->pos;
    size_t at = begin;
    for (int len; at < x->t->n_source; at += (size_t)len) {
        const uint32_t cp = py_char(x->t->source + at, x->t->n_source - at, &len);
        if (!py_is(PY_WORD, cp) || (at == begin && py_is(PY_NUMERIC, cp))) break;
    }
    *out = (struct token){.kind = TOKEN_NAME, .at = begin, .s = x->t->source + begin, .n = at - begin};
    x->pos = at;
    return at > begin;
}

static rn_status next_inside(struct lexer *x, struct token *out) {
    const bool is_block = x->inside == TOKEN_BLOCK_BEGIN;
    for (;;) { // look for the tag's end before and after white space
        const size_t end = x->n_open == 0 ? tag_end(x, x->pos, is_block ? "%}" : "}}") : 0;
        if (end) {
            *out = (struct token){.kind = is_block ? TOKEN_BLOCK_END : TOKEN_PRINT_END, .at = x->pos};
            x->inside = TOKEN_TEXT;
            go_to(x, end);
            return RN_OK;
        }
        const size_t next = skip_space(x, x->pos);
        if (next == x->pos) break;
        x->pos = next;
    }
    if (x->pos == x->t->n_source) {
        *out = (struct token){.kind = TOKEN_END, .at = x->pos};
        return RN_OK;
    }
    const char c = byte_at(x, x->pos);
    if (c >= '0' && c <= '9') return lex_number(x, out);
    if (c == '\'' || c == '"') return lex_string(x, out);
    if (next_name(x, out)) return RN_OK;
    return next_operator(x, out);
}

rn_status lexer_next(struct lexer *x, struct token *out) {
    if (x->inside != TOKEN_TEXT) return next_inside(x, out);
    rn_status st;
    do st = next_outside(x, out);
    while (st == RN_OK && out->kind == TOKEN_TEXT && out->n == 0);
    return st;
}
