// tokenizer/pieces.c - decodes tokens as stored to the bytes they stand for.
#include "tokenizer/pieces.h"
#include "base/checked.h"
#include "base/mem.h"
#include "text/utf8.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/longest.h"
#include "tokenizer/wordpiece.h"
#include <string.h>

// GPT-2's alphabet (Radford et al. 2019, bytes_to_unicode of the published encoder): printable Latin-1 bytes are
// themselves; the other 68 are U+0100..U+0143, in order.
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
        if (b > 0x20 && b < 0x7F) { // the common case
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

bool byte_level_covers(const char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        int len = utf8_char_len(s + i, n - i);
        if (len <= 0 || byte_of_character(utf8_decode(s + i, n - i, &len)) < 0) return false;
        i += (size_t)len;
    }
    return true;
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

// No replacement is longer than its original (pieces_init() checks that), so `out` has room. In
// place from the second one on.
static size_t replace_all(const struct vocab *v, const char *s, size_t n, char *out) {
    if (n) memcpy(out, s, n);
    for (int32_t k = 0; k < v->n_replaces; k++) {
        const struct vocab_str from = v->replaces[k].from, to = v->replaces[k].to;
        size_t n_out = 0;
        for (size_t i = 0; i < n;) {
            if (n - i >= from.n && memcmp(out + i, from.s, from.n) == 0) {
                if (to.n) memcpy(out + n_out, to.s, to.n);
                n_out += to.n, i += from.n;
            } else {
                out[n_out++] = out[i++];
            }
        }
        n = n_out;
    }
    return n;
}

static bool is_control(enum token_kind kind) { return kind == TOKEN_CONTROL || kind == TOKEN_UNKNOWN; }

// Writes the bytes of a token to out, which has room for its text (WordPiece: and a space). Returns their number, -1: a malformed byte token or escape.
static long decode_token(const struct vocab *v, const struct vocab_token *t, char *out) {
    const bool is_text = t->kind == TOKEN_NORMAL || t->kind == TOKEN_UNUSED;
    if (v->model == VOCAB_LONGEST) return longest_unescape(t->text.s, t->text.n, out);
    if (t->kind == TOKEN_BYTE && v->model != VOCAB_BPE) {
        const int byte = byte_token_value(t->text);
        if (byte >= 0) out[0] = (char)byte;
        return byte >= 0 ? 1 : -1;
    }
    if (v->model == VOCAB_SPM) return (long)spaces_decode(t->text.s, t->text.n, out);
    if (v->model == VOCAB_WORDPIECE && t->kind == TOKEN_NORMAL) return (long)wordpiece_text(v, t->text, out);
    if (v->model == VOCAB_BPE && (is_text || t->kind == TOKEN_BYTE))
        return (long)byte_level_decode(t->text.s, t->text.n, out);
    if (v->model != VOCAB_BPE && !is_control(t->kind)) return (long)replace_all(v, t->text.s, t->text.n, out);
    if (t->text.n) memcpy(out, t->text.s, t->text.n);
    return (long)t->text.n;
}

static rn_status begin(struct pieces *p, const struct vocab *v, rn_error *err) {
    *p = (struct pieces){0};
    size_t n_all = 0;
    for (int32_t i = 0; i < v->n_tokens; i++)
        if (!size_add(n_all, v->tokens[i].text.n, &n_all) || n_all > UINT32_MAX)
            return fail(err, RN_E_LIMIT, "vocabulary: %d tokens: more than 4 GiB of text", v->n_tokens);
    for (int32_t k = 0; k < v->n_replaces; k++)
        if (v->replaces[k].from.n == 0 || v->replaces[k].to.n > v->replaces[k].from.n)
            return fail(err, RN_E_UNSUPPORTED, "decoder: \"%.*s\" is replaced by a longer text",
                        v->replaces[k].from.n < 64 ? (int)v->replaces[k].from.n : 64, v->replaces[k].from.s);
    p->bytes = mem_alloc(n_all + (v->model == VOCAB_WORDPIECE ? (size_t)v->n_tokens : 0));
    p->offset = mem_alloc(((size_t)v->n_tokens + 1) * sizeof *p->offset);
    if (p->bytes && p->offset) return RN_OK;
    pieces_free(p);
    return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d tokens", v->n_tokens);
}

static void add(struct pieces *p, int32_t i, uint32_t at, uint32_t n) {
    p->offset[i] = at;
    p->offset[i + 1] = at + n;
    if (n > p->longest) p->longest = n;
}

rn_status pieces_init(struct pieces *p, const struct vocab *v, rn_error *err) {
    const rn_status st = begin(p, v, err);
    if (st != RN_OK) return st;
    uint32_t at = p->offset[0] = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_token *t = &v->tokens[i];
        const long n = decode_token(v, t, p->bytes + at);
        if (n < 0) {
            pieces_free(p);
            return fail(err, RN_E_FORMAT, "vocabulary: token %d: %s \"%.*s\" is not of the form %s", i,
                        v->model == VOCAB_LONGEST ? "an escape of" : "byte token",
                        t->text.n < 40 ? (int)t->text.n : 40, t->text.s,
                        v->model == VOCAB_LONGEST ? "\\xNN" : "<0xNN>");
        }
        add(p, i, at, (uint32_t)n);
        at += (uint32_t)n;
    }
    return RN_OK;
}

rn_status pieces_init_as_stored(struct pieces *p, const struct vocab *v, rn_error *err) {
    const rn_status st = begin(p, v, err);
    if (st != RN_OK) return st;
    uint32_t at = p->offset[0] = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        const struct vocab_str text = v->tokens[i].text;
        if (text.n) memcpy(p->bytes + at, text.s, text.n);
        add(p, i, at, text.n);
        at += text.n;
    }
    return RN_OK;
}

void pieces_free(struct pieces *p) {
    mem_free(p->bytes);
    mem_free(p->offset);
    *p = (struct pieces){0};
}
