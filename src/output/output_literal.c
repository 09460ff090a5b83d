// output/output_literal.c - see output_literal.h. A state machine with a bit stack for the nesting.
#include "output/output_literal.h"
#include "output/output_tag.h"
#include <assert.h>
#include <string.h>

const struct literal_dialect LITERAL_JSON = {.sep = ':', .close = '}'};
const struct literal_dialect LITERAL_PYTHON = {.sep = '=', .close = ')', .bare_keys = true};

enum { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, NEXT, STRING, WORD, END };

static void put(struct literal_out *out, char c) {
    assert(out->n < sizeof out->s);
    out->s[out->n++] = c;
}
static void put_all(struct literal_out *out, const char *s, size_t n) {
    assert(n <= sizeof out->s - out->n);
    memcpy(out->s + out->n, s, n);
    out->n += n;
}

void json_escape(struct literal_out *out, unsigned char c) {
    static const char hex[] = "0123456789abcdef", named[] = "\b\f\n\r\t", names[] = "bfnrt";
    const char *const at = c ? strchr(named, c) : NULL;
    if (c == '"' || c == '\\' || at) {
        put(out, '\\');
        put(out, at ? names[at - named] : (char)c);
    } else if (c < ' ') {
        put_all(out, "\\u00", 4);
        put(out, hex[c >> 4]);
        put(out, hex[c & 15]);
    } else {
        put(out, (char)c);
    }
}

static bool in_object(const struct literal *l) { return l->depth && (l->objects >> (l->depth - 1) & 1); }
static char closer(const struct literal *l) { return !in_object(l) ? ']' : l->depth == 1 ? l->d->close : '}'; }
static char separator(const struct literal *l) { return l->depth == 1 ? l->d->sep : ':'; }
static bool bare_key(const struct literal *l) { return l->depth == 1 ? l->d->bare_keys : l->d->bare_inside; }

void literal_begin(struct literal *l, const struct literal_dialect *d) {
    *l = (struct literal){.d = d, .state = VALUE};
}

static bool push(struct literal *l, bool is_object) {
    if (l->depth == OUTPUT_MAX_DEPTH) return false;
    const uint64_t bit = (uint64_t)1 << l->depth++;
    l->objects = is_object ? l->objects | bit : l->objects & ~bit;
    l->state = is_object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

void literal_begin_inside(struct literal *l, const struct literal_dialect *d, struct literal_out *out) {
    literal_begin(l, d);
    push(l, true);
    out->n = 0;
    put(out, '{');
}

static enum literal_result value_ended(struct literal *l) {
    l->event = LITERAL_VALUE;
    l->state = l->depth ? NEXT : END;
    return l->depth ? LITERAL_MORE : LITERAL_DONE;
}

static enum literal_result pop(struct literal *l, struct literal_out *out) {
    put(out, in_object(l) ? '}' : ']');
    l->depth--;
    return value_ended(l);
}

// ---- strings ------------------------------------------------------------------------------------

static enum literal_result string_ended(struct literal *l, struct literal_out *out) {
    put(out, '"');
    if (!l->is_key) return value_ended(l);
    l->event = LITERAL_KEY;
    l->state = COLON;
    return LITERAL_MORE;
}

static enum literal_result raw_string(struct literal *l, unsigned char c, struct literal_out *out) {
    const char *const quote = l->d->quote;
    if (c == (unsigned char)quote[l->n_quote]) {
        if (quote[++l->n_quote]) return LITERAL_MORE;
        l->n_quote = 0;
        if (l->is_open) return string_ended(l, out);
        l->is_open = true;
        put(out, '"');
        return LITERAL_MORE;
    }
    if (!l->is_open) return LITERAL_BAD;
    for (size_t i = 0; i < l->n_quote; i++) json_escape(out, (unsigned char)quote[i]);
    l->n_quote = c == (unsigned char)quote[0]; // only the first byte of such a quote equals quote[0]
    if (!l->n_quote) json_escape(out, c);
    return LITERAL_MORE;
}

static bool is_hex(unsigned char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

// An escape that JSON does not have becomes a backslash followed by the text.
static void escape_failed(struct literal *l, struct literal_out *out) {
    for (size_t i = 0; i < l->n_escape; i++) json_escape(out, (unsigned char)l->escape[i]);
    l->n_escape = 0;
}

// Processes c if it is the next byte of the current escape; false: it is not.
static bool in_escape(struct literal *l, unsigned char c, struct literal_out *out) {
    const bool fits = l->n_escape == 1 ? c && strchr("\"\\/bfnrtu'", c) != NULL : is_hex(c);
    if (!fits) return escape_failed(l, out), false;
    l->escape[l->n_escape++] = (char)c;
    if (l->escape[1] == 'u' && l->n_escape < 6) return true;
    if (c == '\'' && l->n_escape == 2)
        put(out, '\'');
    else
        put_all(out, l->escape, l->n_escape);
    l->n_escape = 0;
    return true;
}

static enum literal_result quoted_string(struct literal *l, unsigned char c, struct literal_out *out) {
    if (l->n_escape && in_escape(l, c, out)) return LITERAL_MORE;
    if (c == (unsigned char)l->delimiter) return string_ended(l, out);
    if (c == '\\')
        l->escape[l->n_escape++] = (char)c;
    else
        json_escape(out, c);
    return LITERAL_MORE;
}

static bool begin_string(struct literal *l, unsigned char c, bool is_key, struct literal_out *out) {
    const bool raw = l->d->quote && c == (unsigned char)l->d->quote[0];
    if (!raw && c != '"' && c != '\'') return false;
    l->is_key = is_key;
    l->delimiter = raw ? 0 : (char)c;
    l->is_open = !raw;
    l->n_quote = raw;
    l->n_escape = 0;
    l->state = STRING;
    l->in_token = true;
    if (!raw) put(out, '"');
    return true;
}

static enum literal_result string_step(struct literal *l, unsigned char c, struct literal_out *out) {
    l->in_token = true;
    return l->delimiter ? quoted_string(l, c, out) : raw_string(l, c, out);
}

// ---- words --------------------------------------------------------------------------------------

static const struct {
    const char *word, *json;
} constants[] = {{"true", "true"},   {"True", "true"}, {"false", "false"},
                 {"False", "false"}, {"null", "null"}, {"None", "null"}};

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

// Returns how many bytes of s[0..n) form a JSON number (RFC 8259, section 6) or its beginning;
// *whole: they are a complete number.
static size_t number_part(const char *s, size_t n, bool *whole) {
    size_t i = 0;
    *whole = false;
    if (i < n && s[i] == '-') i++;
    if (i < n && s[i] == '0')
        i++, *whole = true;
    else
        while (i < n && is_digit((unsigned char)s[i])) i++, *whole = true;
    if (*whole && i < n && s[i] == '.')
        for (i++, *whole = false; i < n && is_digit((unsigned char)s[i]); i++) *whole = true;
    if (*whole && i < n && (s[i] | 32) == 'e') {
        *whole = false;
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-')) i++;
        for (; i < n && is_digit((unsigned char)s[i]); i++) *whole = true;
    }
    return i;
}

// Can s[0..n) still become a number or a constant?
static bool word_may_be(const char *s, size_t n) {
    bool whole = false;
    if (number_part(s, n, &whole) == n) return true;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (n <= strlen(constants[i].word) && memcmp(constants[i].word, s, n) == 0) return true;
    return false;
}

static bool is_word(unsigned char c) { return c > ' ' && c != 0x7f && !strchr(",:=\"'[]{}()<>`\\", c); }

static bool put_word(const struct literal *l, struct literal_out *out) {
    bool whole = false;
    if (number_part(l->word, l->n_word, &whole) == l->n_word && whole) return put_all(out, l->word, l->n_word), true;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (l->n_word == strlen(constants[i].word) && memcmp(constants[i].word, l->word, l->n_word) == 0)
            return put_all(out, constants[i].json, strlen(constants[i].json)), true;
    return false;
}

static void put_quoted_word(const struct literal *l, struct literal_out *out) {
    put(out, '"');
    for (size_t i = 0; i < l->n_word; i++) json_escape(out, (unsigned char)l->word[i]);
    put(out, '"');
}

// Ends a word; the caller passes the current byte again.
static enum literal_result word_ended(struct literal *l, struct literal_out *out) {
    l->in_token = true;
    if (l->is_key) {
        put_quoted_word(l, out);
        l->event = LITERAL_KEY;
        l->state = COLON;
        return LITERAL_AGAIN;
    }
    if (!put_word(l, out)) {
        if (!l->d->bare_inside) return LITERAL_BAD;
        put_quoted_word(l, out);
    }
    value_ended(l);
    return LITERAL_AGAIN;
}

static enum literal_result word_step(struct literal *l, unsigned char c, struct literal_out *out) {
    if (!is_word(c)) return word_ended(l, out);
    if (l->n_word == OUTPUT_MAX_WORD) return LITERAL_BAD;
    l->word[l->n_word] = (char)c;
    if (!l->is_key && !l->d->bare_inside && !word_may_be(l->word, (size_t)l->n_word + 1)) return LITERAL_BAD;
    l->n_word++;
    return LITERAL_MORE;
}

static enum literal_result begin_word(struct literal *l, unsigned char c, bool is_key, struct literal_out *out) {
    if (!is_word(c)) return LITERAL_BAD;
    l->is_key = is_key;
    l->n_word = 0;
    l->state = WORD;
    return word_step(l, c, out);
}

// ---- structure ----------------------------------------------------------------------------------

static enum literal_result value_step(struct literal *l, unsigned char c, struct literal_out *out) {
    if (c == '{' || c == '[') {
        if (!push(l, c == '{')) return LITERAL_BAD;
        put(out, (char)c);
        return LITERAL_MORE;
    }
    if (c == ']' && l->state == VALUE_OR_END) return pop(l, out);
    return begin_string(l, c, false, out) ? LITERAL_MORE : begin_word(l, c, false, out);
}

static enum literal_result key_step(struct literal *l, unsigned char c, struct literal_out *out) {
    if (c == (unsigned char)closer(l) && l->state == KEY_OR_END) return pop(l, out);
    if (begin_string(l, c, true, out)) return LITERAL_MORE;
    return bare_key(l) ? begin_word(l, c, true, out) : LITERAL_BAD;
}

static enum literal_result between_step(struct literal *l, unsigned char c, struct literal_out *out) {
    if (l->state == COLON) {
        if (c != (unsigned char)separator(l)) return LITERAL_BAD;
        put(out, ':');
        l->has_key = true;
        l->state = VALUE;
        return LITERAL_MORE;
    }
    if (c == (unsigned char)closer(l)) return pop(l, out);
    if (c != ',') return LITERAL_BAD;
    put(out, ',');
    l->state = in_object(l) ? KEY : VALUE;
    return LITERAL_MORE;
}

enum literal_result literal_step(struct literal *l, unsigned char c, struct literal_out *out) {
    out->n = 0;
    l->event = LITERAL_NOTHING;
    l->in_token = false;
    if (l->state == STRING) return string_step(l, c, out);
    if (l->state == WORD) return word_step(l, c, out);
    if (l->state == END) return LITERAL_BAD;
    if (is_space(c)) {
        if (c == '\v' || c == '\f') return LITERAL_BAD; // not white space in JSON
        put(out, (char)c);
        return LITERAL_MORE;
    }
    if (l->state == VALUE || l->state == VALUE_OR_END) return value_step(l, c, out);
    if (l->state == KEY || l->state == KEY_OR_END) return key_step(l, c, out);
    return between_step(l, c, out);
}

void literal_skip_value(struct literal *l) { l->state = NEXT; }

bool literal_wants_value(const struct literal *l) { return l->state == VALUE; }
bool literal_is_whole_byte(const struct literal *l) { return l->state != STRING || l->n_escape == 0; }

bool literal_finish(struct literal *l, struct literal_out *out) {
    out->n = 0;
    if (l->state == WORD && l->depth == 0) return word_ended(l, out) == LITERAL_AGAIN;
    return l->state == END;
}

void literal_break(const struct literal *l, struct literal_out *out) {
    out->n = 0;
    if (l->state == WORD) put_all(out, l->word, l->n_word);
    if (l->state != STRING) return;
    if (!l->delimiter)
        put_all(out, l->d->quote, l->n_quote);
    else
        put_all(out, l->escape, l->n_escape);
}

// ---- unescaping ---------------------------------------------------------------------------------

static uint16_t hex4(const char *s) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | ((unsigned)s[i] <= '9' ? (unsigned)s[i] - '0' : ((unsigned)s[i] | 32) - 'a' + 10);
    return (uint16_t)v;
}

static size_t utf8_put(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, 1;
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

// Processes one UTF-16 code unit; writes the character when it is complete.
static size_t unit(struct json_unescape *u, uint16_t v, char out[8]) {
    const uint16_t high = u->high;
    u->high = (uint16_t)(v >= 0xd800 && v < 0xdc00 ? v : 0);
    const bool low = v >= 0xdc00 && v < 0xe000;
    if (high && low) return utf8_put(0x10000 + ((uint32_t)(high - 0xd800) << 10) + (v - 0xdc00u), out);
    const size_t n = high ? utf8_put(0xfffd, out) : 0;
    if (u->high) return n;
    return n + utf8_put(low ? 0xfffd : v, out + n);
}

size_t json_unescape(struct json_unescape *u, unsigned char c, char out[8]) {
    static const char names[] = "bfnrt", named[] = "\b\f\n\r\t";
    if (u->n == 0 && c == '\\') return u->escape[u->n++] = (char)c, 0;
    if (u->n == 0) {
        const size_t n = u->high ? utf8_put(0xfffd, out) : 0;
        u->high = 0;
        if (c == '"') return n; // the opening or closing quote
        out[n] = (char)c;
        return n + 1;
    }
    u->escape[u->n++] = (char)c;
    if (u->escape[1] == 'u' && u->n < 6) return 0;
    u->n = 0;
    if (u->escape[1] == 'u') return unit(u, hex4(u->escape + 2), out);
    const char *const at = strchr(names, c);
    return unit(u, at ? (uint16_t)named[at - names] : c, out);
}
