// text/utf8.c - UTF-8 by the table of well-formed byte sequences (RFC 3629, section 4; Unicode, table 3-7).
#include "text/utf8.h"
#include <assert.h>
#include <string.h>

// What may follow a lead byte: only the range of the second byte varies, the third and fourth are always 80..BF.
struct lead {
    uint8_t len;    // of the whole character, 0: not a lead byte
    uint8_t lo, hi; // of the second byte
};

static struct lead lead_of(uint8_t b) {
    if (b < 0x80) return (struct lead){1, 0, 0};
    if (b < 0xC2) return (struct lead){0, 0, 0}; // continuation bytes, and leads of overlong forms
    if (b < 0xE0) return (struct lead){2, 0x80, 0xBF};
    if (b == 0xE0) return (struct lead){3, 0xA0, 0xBF}; // below: overlong
    if (b == 0xED) return (struct lead){3, 0x80, 0x9F}; // above: surrogates
    if (b < 0xF0) return (struct lead){3, 0x80, 0xBF};
    if (b == 0xF0) return (struct lead){4, 0x90, 0xBF};
    if (b < 0xF4) return (struct lead){4, 0x80, 0xBF};
    if (b == 0xF4) return (struct lead){4, 0x80, 0x8F}; // above: beyond U+10FFFF
    return (struct lead){0, 0, 0};
}

// The number of bytes at s that begin one character; sets *whole to that character's length (0: not a lead byte).
static size_t good_prefix(const char *s, size_t n, size_t *whole) {
    const struct lead l = lead_of((uint8_t)s[0]);
    *whole = l.len;
    if (l.len < 2) return l.len;
    size_t i = 1;
    for (; i < n && i < l.len; i++) {
        const uint8_t b = (uint8_t)s[i];
        const uint8_t lo = i == 1 ? l.lo : 0x80, hi = i == 1 ? l.hi : 0xBF;
        if (b < lo || b > hi) break;
    }
    return i;
}

int utf8_char_len(const char *s, size_t n) {
    assert(n > 0);
    size_t whole = 0;
    const size_t good = good_prefix(s, n, &whole);
    if (whole == 0) return 0;
    if (good == whole) return (int)whole;
    return good == n ? -1 : 0;
}

size_t utf8_invalid_len(const char *s, size_t n) {
    assert(n > 0);
    size_t whole = 0;
    const size_t good = good_prefix(s, n, &whole);
    return good ? good : 1;
}

bool utf8_valid(const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        const int len = utf8_char_len(s + i, n - i);
        if (len <= 0) return false;
        i += (size_t)len;
    }
    return true;
}

uint32_t utf8_decode(const char *s, size_t n, int *len) {
    static const uint8_t lead_bits[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    *len = utf8_char_len(s, n);
    assert(*len > 0);
    uint32_t cp = (uint8_t)s[0] & lead_bits[*len];
    for (int i = 1; i < *len; i++) cp = cp << 6 | ((uint8_t)s[i] & 0x3F);
    return cp;
}

int utf8_encode(uint32_t cp, char out[4]) {
    static const uint8_t lead_mark[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    const int len = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (int i = len - 1; i > 0; i--, cp >>= 6) out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)(lead_mark[len] | cp);
    return len;
}

static size_t emit_invalid(const utf8_assembler *a, const char *s, size_t n, char *out) {
    if (!a->keep_invalid) return (size_t)utf8_encode(0xFFFD, out);
    memcpy(out, s, n);
    return n;
}

// Adds a byte to the held character. True: the byte belongs to it; false: the byte begins something new.
static bool take_held(utf8_assembler *a, char byte, char *out, size_t *n_out) {
    char c[4];
    memcpy(c, a->held, a->n_held);
    c[a->n_held] = byte;
    const size_t n = (size_t)a->n_held + 1;
    const int len = utf8_char_len(c, n);
    if (len < 0) {
        a->held[a->n_held++] = (uint8_t)byte;
        return true;
    }
    const size_t n_ready = len > 0 ? n : n - 1;
    if (len > 0)
        memcpy(out + *n_out, c, n_ready), *n_out += n_ready;
    else
        *n_out += emit_invalid(a, c, n_ready, out + *n_out);
    a->n_held = 0;
    return len > 0;
}

size_t utf8_assembler_push(utf8_assembler *a, const char *s, size_t n, char *out) {
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        if (a->n_held > 0) {
            i += take_held(a, s[i], out, &n_out);
            continue;
        }
        const int len = utf8_char_len(s + i, n - i);
        if (len > 0) {
            memcpy(out + n_out, s + i, (size_t)len);
            n_out += (size_t)len, i += (size_t)len;
        } else if (len == 0) {
            const size_t bad = utf8_invalid_len(s + i, n - i);
            n_out += emit_invalid(a, s + i, bad, out + n_out);
            i += bad;
        } else {
            a->n_held = (uint8_t)(n - i);
            memcpy(a->held, s + i, n - i);
            i = n;
        }
    }
    return n_out;
}

size_t utf8_assembler_finish(utf8_assembler *a, char *out) {
    if (a->n_held == 0) return 0;
    const size_t n = a->n_held;
    a->n_held = 0;
    return emit_invalid(a, (const char *)a->held, n, out);
}
