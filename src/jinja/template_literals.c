// jinja/template_literals.c - see template_literals.h.
#include "jinja/template_literals.h"
#include "base/mem.h"
#include "base/status.h"
#include "jinja/py_chars.h"
#include "jinja/py_numbers.h"
#include "text/utf8.h"
#include <stdio.h>

static rn_status no_memory(const struct lexer *x, size_t at) {
    return template_fail_at(x->t, at, x->err, RN_E_NOMEM, "out of memory");
}

// ---- numbers ------------------------------------------------------------------------------------

static char byte_at(const struct lexer *x, size_t at) { return at < x->t->n_source ? x->t->source[at] : 0; }

static bool is_digit(char c, int base) {
    if (base == 16) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return c >= '0' && c < '0' + base;
}

// Skips digits with single underscores between them. Returns the position after the last digit;
// `at` if there is none.
static size_t skip_digits(const struct lexer *x, size_t at, int base) {
    size_t end = at;
    while (is_digit(byte_at(x, at), base)) {
        end = ++at;
        if (byte_at(x, at) == '_') at++;
    }
    return end;
}

// If a number with a fraction or exponent begins at `at`, returns the position after it, else 0.
static size_t float_end(const struct lexer *x, size_t at) {
    const size_t whole = skip_digits(x, at, 10);
    size_t end = whole;
    if (at > 0 && byte_at(x, at - 1) == '.') return 0; // x.0.1 is an item of an item
    if (byte_at(x, whole) == '.') {
        const size_t fraction = skip_digits(x, whole + 1, 10);
        if (fraction > whole + 1) end = fraction;
    }
    if (byte_at(x, end) == 'e' || byte_at(x, end) == 'E') {
        const size_t digits = end + 1 + (byte_at(x, end + 1) == '+' || byte_at(x, end + 1) == '-');
        const size_t exponent = skip_digits(x, digits, 10);
        if (exponent > digits) end = exponent;
    }
    return end > whole ? end : 0;
}

static size_t whole_end(const struct lexer *x, size_t at, int *base) {
    static const struct {
        char letter;
        int base;
    } forms[] = {{'b', 2}, {'o', 8}, {'x', 16}};
    *base = 10;
    if (byte_at(x, at) != '0') return skip_digits(x, at, 10);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((byte_at(x, at + 1) | 0x20) != forms[i].letter) continue;
        const size_t digits = at + 2 + (byte_at(x, at + 2) == '_');
        const size_t end = skip_digits(x, digits, forms[i].base);
        if (end == digits) break;
        *base = forms[i].base;
        return end;
    }
    size_t end = at + 1; // only zeros may follow: 012 would be 0 and then 12, an error
    while (byte_at(x, end) == '0' || (byte_at(x, end) == '_' && byte_at(x, end + 1) == '0')) end++;
    return end;
}

rn_status lex_number(struct lexer *x, struct token *out) {
    const size_t at = x->pos, float_to = float_end(x, at);
    int base = 10;
    const size_t end = float_to ? float_to : whole_end(x, at, &base);
    const char *const s = x->t->source + at;
    tval *const v = arena_alloc(&x->t->arena, sizeof *v);
    if (!v) return no_memory(x, at);
    *out = (struct token){.kind = TOKEN_NUMBER, .at = at, .s = s, .n = end - at, .value = v};
    x->pos = end;
    if (float_to) {
        v->kind = TV_FLOAT;
        if (py_parse_float(s, end - at, &v->d)) return RN_OK;
    } else {
        v->kind = TV_INT;
        tv_int i;
        const enum py_parsed got = py_parse_int(s, end - at, base == 10 ? 10 : 0, &i);
        v->i = i;
        if (got == PY_PARSED) return RN_OK;
    }
    return template_fail_at(x->t, at, x->err, RN_E_LIMIT, "a number beyond 127 bits");
}

// ---- strings ------------------------------------------------------------------------------------

struct decoder {
    const struct lexer *x;
    const char *s;      // the text between the quotes
    size_t n, at, from; // from: the text's offset in the source
    char *to;
    size_t n_to;
};

static rn_status bad_escape(const struct decoder *d, const char *why) {
    return template_fail_at(d->x->t, d->from + d->at, d->x->err, RN_E_FORMAT, "in a string: %s", why);
}

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 99;
}

// \x, \u, \U: decodes n_digits digits after the letter, which is at d->at.
static rn_status hex_escape(struct decoder *d, size_t n_digits) {
    uint32_t cp = 0;
    for (size_t i = 1; i <= n_digits; i++) {
        const int digit = d->at + i < d->n ? digit_of(d->s[d->at + i]) : 99;
        if (digit > 15) return bad_escape(d, "an escape with too few digits");
        cp = cp << 4 | (uint32_t)digit;
    }
    if (cp > 0x10FFFF) return bad_escape(d, "an escape beyond U+10FFFF");
    if (cp >= 0xD800 && cp < 0xE000) return bad_escape(d, "half of a surrogate pair");
    d->n_to += (size_t)utf8_encode(cp, d->to + d->n_to);
    d->at += n_digits + 1;
    return RN_OK;
}

static void octal_escape(struct decoder *d) {
    uint32_t cp = 0;
    for (int i = 0; i < 3 && d->at < d->n && is_digit(d->s[d->at], 8); i++)
        cp = cp * 8 + (uint32_t)(d->s[d->at++] - '0');
    d->n_to += (size_t)utf8_encode(cp, d->to + d->n_to);
}

// Jinja escapes non-ASCII characters before it decodes a string, so a backslash before such a
// character escapes the backslash of its escape.
static void spelt_char(struct decoder *d) {
    int len;
    const uint32_t cp = py_char(d->s + d->at, d->n - d->at, &len);
    const char *const form = cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x";
    d->n_to += (size_t)sprintf(d->to + d->n_to, form, cp);
    d->at += (size_t)len;
}

// Decodes the escape whose backslash is just before d->at.
static rn_status decode_escape(struct decoder *d) {
    static const char letters[] = "\\'\"abfnrtv", meant[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = d->s[d->at]; // in bounds: a string cannot end with a single backslash
    const char *const known = c ? strchr(letters, c) : NULL;
    if (known) {
        d->to[d->n_to++] = meant[known - letters];
        d->at++;
        return RN_OK;
    }
    if (c == '\n') return d->at++, RN_OK;
    if (is_digit(c, 8)) return octal_escape(d), RN_OK;
    if (c == 'x') return hex_escape(d, 2);
    if (c == 'u') return hex_escape(d, 4);
    if (c == 'U') return hex_escape(d, 8);
    if (c == 'N')
        return template_fail_at(d->x->t, d->from + d->at, d->x->err, RN_E_UNSUPPORTED,
                                "\\N: characters by their names are not supported");
    if ((uint8_t)c >= 0x80) return spelt_char(d), RN_OK;
    d->to[d->n_to++] = '\\';
    d->to[d->n_to++] = c;
    d->at++;
    return RN_OK;
}

static rn_status decode(struct decoder *d) {
    while (d->at < d->n) {
        const char c = d->s[d->at++];
        if (c != '\\') {
            d->to[d->n_to++] = c;
            continue;
        }
        const rn_status st = decode_escape(d);
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

rn_status lex_string(struct lexer *x, struct token *out) {
    const char *const s = x->t->source;
    const size_t begin = x->pos + 1;
    size_t end = begin;
    bool escapes = false;
    for (; end < x->t->n_source && s[end] != s[x->pos]; end++)
        if (s[end] == '\\') escapes = true, end++;
    if (end >= x->t->n_source) return template_fail_at(x->t, x->pos, x->err, RN_E_FORMAT, "a string is not closed");
    *out = (struct token){.kind = TOKEN_STRING, .at = x->pos, .s = s + begin, .n = end - begin};
    x->pos = end + 1;
    if (!escapes) return RN_OK;
    struct decoder d = {.x = x, .s = out->s, .n = out->n, .from = begin};
    d.to = arena_alloc(&x->t->arena, 3 * out->n + 16); // a character of two bytes may become four bytes (\xNN)
    if (!d.to) return no_memory(x, begin);
    const rn_status st = decode(&d);
    out->s = d.to;
    out->n = d.n_to;
    return st;
}
