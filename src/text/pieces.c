// text/pieces.c - tokens as stored to tokens as bytes.
#include "text/pieces.h"
#include "base/checked.h"
#include "base/mem.h"
#include "text/utf8.h"
#include <string.h>

// GPT-2's alphabet (Radford et al. 2019, bytes_to_unicode of the published encoder): printable bytes of Latin-1 stand
// for themselves; the other 68, in order, are U+0100..U+0143.
static int byte_of_character(uint32_t cp) {
    if ((cp >= 0x21 && cp <= 0x7E) || (cp >= 0xA1 && cp <= 0xAC) || (cp >= 0xAE && cp <= 0xFF)) return (int)cp;
    if (cp >= 0x100 && cp <= 0x120) return (int)cp - 0x100;        // 00..20
    if (cp >= 0x121 && cp <= 0x142) return (int)cp - 0x121 + 0x7F; // 7F..A0
    return cp == 0x143 ? 0xAD : -1;
}

size_t byte_level_decode(const char *s, size_t n, char *out) {
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        const uint8_t b = (uint8_t)s[i];
        if (b > 0x20 && b < 0x7F) { // most of every vocabulary
            out[n_out++] = s[i++];
            continue;
        }
        const int len = utf8_char_len(s + i, n - i);
        const size_t n_char = len > 0 ? (size_t)len : 1;
        int skip = 0;
        const int byte = len > 0 ? byte_of_character(utf8_decode(s + i, n - i, &skip)) : -1;
        if (byte >= 0) {
            out[n_out++] = (char)byte;
        } else {
            memcpy(out + n_out, s + i, n_char);
            n_out += n_char;
        }
        i += n_char;
    }
    return n_out;
}

static size_t spaces_decode(const char *s, size_t n, char *out) {
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        if (n - i >= 3 && memcmp(s + i, "\xE2\x96\x81", 3) == 0)
            out[n_out++] = ' ', i += 3;
        else
            out[n_out++] = s[i++];
    }
    return n_out;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

// <0xNN>, nothing else: -1.
static int byte_spelled(struct vocab_str t) {
    if (t.n != 6 || memcmp(t.s, "<0x", 3) != 0 || t.s[5] != '>') return -1;
    const int high = hex_digit(t.s[3]), low = hex_digit(t.s[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// The bytes of one token to out, which has room for its text. Returns their number, -1: a malformed byte token.
static long decode_token(const struct vocab *v, const struct vocab_token *t, char *out) {
    const bool is_text = t->kind == TOKEN_NORMAL || t->kind == TOKEN_UNUSED;
    if (t->kind == TOKEN_BYTE && v->model == VOCAB_SPM) {
        const int byte = byte_spelled(t->text);
        if (byte >= 0) out[0] = (char)byte;
        return byte >= 0 ? 1 : -1;
    }
    if (is_text && v->model == VOCAB_SPM) return (long)spaces_decode(t->text.s, t->text.n, out);
    if (is_text || t->kind == TOKEN_BYTE) return (long)byte_level_decode(t->text.s, t->text.n, out);
    if (t->text.n) memcpy(out, t->text.s, t->text.n);
    return (long)t->text.n;
}

rn_status pieces_init(struct pieces *p, const struct vocab *v, rn_error *err) {
    *p = (struct pieces){0};
    size_t n_all = 0;
    for (int32_t i = 0; i < v->n_tokens; i++)
        if (!size_add(n_all, v->tokens[i].text.n, &n_all) || n_all > UINT32_MAX)
            return fail(err, RN_E_LIMIT, "vocabulary: %d tokens: more than 4 GiB of text", v->n_tokens);
    p->bytes = mem_alloc(n_all);
    p->offset = mem_alloc(((size_t)v->n_tokens + 1) * sizeof *p->offset);
    if (!p->bytes || !p->offset) {
        pieces_free(p);
        return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d tokens", v->n_tokens);
    }
    uint32_t at = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_token *t = &v->tokens[i];
        const long n = decode_token(v, t, p->bytes + at);
        if (n < 0) {
            pieces_free(p);
            return fail(err, RN_E_FORMAT, "vocabulary: token %d: byte token \"%.*s\" is not of the form <0xNN>", i,
                        t->text.n < 40 ? (int)t->text.n : 40, t->text.s);
        }
        p->offset[i] = at;
        at += (uint32_t)n;
        if ((uint32_t)n > p->longest) p->longest = (uint32_t)n;
    }
    p->offset[v->n_tokens] = at;
    return RN_OK;
}

void pieces_free(struct pieces *p) {
    mem_free(p->bytes);
    mem_free(p->offset);
    *p = (struct pieces){0};
}
