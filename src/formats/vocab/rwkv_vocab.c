// formats/vocab/rwkv_vocab.c - see rwkv_vocab.h.
#include "formats/vocab/rwkv_vocab.h"
#include "formats/limits.h"
#include "text/hex.h"
#include "text/utf8.h"
#include "tokenizer/longest.h"
#include <inttypes.h>
#include <string.h>

enum {
    MIN_LINE = sizeof "1 'a' 1" - 1,
    MAX_LINE = 4 * LONGEST_MAX_TOKEN + 64 // no escape has more than 4 characters for a byte
};

struct line {
    const char *at, *end;
};

// The line that begins at `at`, without its end; *next: where the one behind it begins.
static struct line line_at(const char *at, const char *end, const char **next) {
    const char *const feed = memchr(at, '\n', (size_t)(end - at)), *const stop = feed ? feed : end;
    *next = feed ? feed + 1 : end;
    return (struct line){at, stop - (stop > at && stop[-1] == '\r')};
}

static bool read_number(struct line *l, uint64_t *out) {
    const char *const first = l->at;
    for (*out = 0; l->at < l->end && *l->at >= '0' && *l->at <= '9' && *out < UINT32_MAX; l->at++)
        *out = *out * 10 + (uint64_t)(*l->at - '0');
    return l->at > first;
}

static bool take(struct line *l, char c) {
    if (l->at == l->end || *l->at != c) return false;
    l->at++;
    return true;
}

// What follows a backslash. In bytes \xNN is a byte, in strings a character.
static bool read_escape(struct line *l, bool is_bytes, char **out) {
    static const char letters[] = "n\nr\rt\t\\\\''\"\"";
    const char kind = l->at < l->end ? *l->at++ : 0;
    const int n_digits = kind == 'x' ? 2 : is_bytes ? 0 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    uint32_t code;
    for (size_t i = 0; i + 1 < sizeof letters && n_digits == 0; i += 2)
        if (letters[i] == kind) {
            *(*out)++ = letters[i + 1];
            return true;
        }
    if (n_digits == 0 || l->end - l->at < n_digits || !hex_read(l->at, n_digits, &code) || code > 0x10ffff)
        return false;
    l->at += n_digits;
    if (is_bytes)
        *(*out)++ = (char)code;
    else
        *out += utf8_encode(code, *out);
    return true;
}

// A literal in quotes; out has room for as many bytes as the line.
static bool read_literal(struct line *l, char *out, size_t *n) {
    char *at = out;
    const bool is_bytes = take(l, 'b');
    const char quote = l->at < l->end ? *l->at++ : 0;
    if (quote != '\'' && quote != '"') return false;
    while (l->at < l->end && *l->at != quote) {
        const char c = *l->at++;
        if ((uint8_t)c < ' ' || (is_bytes && (uint8_t)c > '~')) return false;
        if (c != '\\')
            *at++ = c;
        else if (!read_escape(l, is_bytes, &at))
            return false;
    }
    *n = (size_t)(at - out);
    return take(l, quote) && (is_bytes || utf8_valid(out, *n));
}

static rn_status read_token(struct line l, int32_t id, struct arena *mem, struct vocab *v, struct vocab_token *out,
                            rn_error *err) {
    char text[MAX_LINE];
    uint64_t said, n_said;
    size_t n = 0;
    if (l.end - l.at > MAX_LINE) return fail(err, RN_E_LIMIT, "%td bytes, limit %d", l.end - l.at, MAX_LINE);
    if (!read_number(&l, &said) || !take(&l, ' ') || !read_literal(&l, text, &n) || !take(&l, ' ') ||
        !read_number(&l, &n_said) || l.at != l.end)
        return fail(err, RN_E_FORMAT, "is no id, Python literal and number of bytes");
    if (said != (uint64_t)id)
        return fail(err, RN_E_FORMAT, "has id %" PRIu64 ", where %" PRId32 " is next", said, id);
    if (n != n_said || n == 0) return fail(err, RN_E_FORMAT, "has %zu bytes, and says %" PRIu64, n, n_said);
    if (n > LONGEST_MAX_TOKEN) return fail(err, RN_E_LIMIT, "a token of %zu bytes, limit %d", n, LONGEST_MAX_TOKEN);
    char *const spelled = arena_alloc(mem, 4 * n);
    if (!spelled) return fail(err, RN_E_NOMEM, "out of memory");
    *out = (struct vocab_token){{spelled, (uint32_t)longest_escape(text, n, spelled)}, .kind = TOKEN_NORMAL};
    if (n == 2 && memcmp(text, "\n\n", 2) == 0) v->eot = id;
    return RN_OK;
}

// Shorter lines are no tokens, and are refused when they are read.
static size_t count_tokens(const char *at, const char *end) {
    size_t n = 0;
    while (at < end) {
        const struct line l = line_at(at, end, &at);
        n += l.end - l.at >= MIN_LINE;
    }
    return n;
}

static rn_status read_lines(const char *data, size_t n, struct arena *mem, struct vocab *v, rn_error *err) {
    if (n == 0) return fail(err, RN_E_FORMAT, "is empty");
    if (n > FOLDER_MAX_TOKENIZER_BYTES)
        return fail(err, RN_E_LIMIT, "%zu bytes, limit %d", n, FOLDER_MAX_TOKENIZER_BYTES);
    const char *at = data, *const end = data + n;
    const size_t n_tokens = count_tokens(at, end) + 1;
    struct vocab_token *const tokens = arena_alloc(mem, n_tokens * sizeof *tokens);
    if (!tokens) return fail(err, RN_E_NOMEM, "out of memory for %zu tokens", n_tokens);
    static const char ends_text[] = "<|rwkv_tokenizer_end_of_text|>";
    tokens[0] = (struct vocab_token){{ends_text, sizeof ends_text - 1}, .kind = TOKEN_CONTROL};
    for (v->n_tokens = 1; at < end; v->n_tokens++) {
        const struct line l = line_at(at, end, &at);
        const rn_status st = read_token(l, v->n_tokens, mem, v, &tokens[v->n_tokens], err);
        if (st != RN_OK) return fail_in(err, st, "line %" PRId32, v->n_tokens);
    }
    v->model = VOCAB_LONGEST;
    v->tokens = tokens;
    v->bos = v->eos = 0;
    return RN_OK;
}

rn_status rwkv_vocab_load(const char *name, const char *data, size_t n, struct arena *mem, struct vocab *out,
                          rn_error *err) {
    static const struct vocab none = {.bos = -1, .eos = -1, .eot = -1, .eom = -1, .unk = -1, .pad = -1};
    *out = none;
    const rn_status st = read_lines(data, n, mem, out, err);
    if (st == RN_OK) return RN_OK;
    *out = none;
    return fail_in(err, st, "%s", name);
}
