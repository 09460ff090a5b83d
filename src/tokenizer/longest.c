// tokenizer/longest.c - see longest.h. The published code: BlinkDL/ChatRWKV, tokenizer/rwkv_tokenizer.py.
#include "tokenizer/longest.h"
#include "base/mem.h"
#include "text/hex.h"

// list: room for all tokens.
static rn_status gather(const struct vocab *v, const struct pieces *pieces, struct spelling *list, uint32_t *n,
                        rn_error *err) {
    *n = 0;
    for (int32_t i = 0; i < v->n_tokens; i++) {
        struct vocab_str s;
        s.s = piece_of(pieces, i, &s.n);
        if (s.n == 0 || v->tokens[i].kind != TOKEN_NORMAL) continue;
        if (s.n > LONGEST_MAX_TOKEN)
            return fail(err, RN_E_LIMIT, "vocabulary: token %d: %u bytes, at most %d", i, s.n, LONGEST_MAX_TOKEN);
        list[(*n)++] = (struct spelling){s, v->n_tokens - 1 - i};
    }
    return RN_OK;
}

rn_status longest_init(struct longest *l, const struct vocab *v, const struct pieces *pieces, rn_error *err) {
    *l = (struct longest){.n_tokens = v->n_tokens};
    struct spelling *const list = mem_alloc((size_t)v->n_tokens * sizeof *list);
    uint32_t n = 0;
    rn_status st = list ? gather(v, pieces, list, &n, err) : RN_E_NOMEM;
    if (st == RN_OK && !trie_init(&l->tokens, list, n)) st = RN_E_NOMEM;
    mem_free(list);
    return st != RN_E_NOMEM ? st : fail(err, st, "vocabulary: out of memory for %d tokens", v->n_tokens);
}

void longest_free(struct longest *l) {
    trie_free(&l->tokens);
    *l = (struct longest){0};
}

bool longest_has(const struct longest *l, uint8_t byte) {
    const uint32_t node = trie_step(&l->tokens, TRIE_ROOT, byte);
    return node != TRIE_NONE && trie_id(&l->tokens, node) >= 0;
}

rn_status longest_encode(const struct longest *l, const char *text, size_t n, size_t max_ids, struct id_list *ids,
                         size_t *n_dropped, rn_error *err) {
    for (size_t at = 0, len; at < n; at += len) {
        int32_t found = -1;
        uint32_t node = TRIE_ROOT;
        len = 1;
        for (size_t i = at; i < n && (node = trie_step(&l->tokens, node, (uint8_t)text[i])) != TRIE_NONE; i++)
            if (trie_id(&l->tokens, node) >= 0) found = trie_id(&l->tokens, node), len = i + 1 - at;
        if (ids->n > max_ids) return id_list_over(ids, err);
        if (found < 0)
            ++*n_dropped;
        else if (!id_list_add(ids, l->n_tokens - 1 - found))
            return fail(err, RN_E_NOMEM, "text: out of memory for %zu tokens", ids->n);
    }
    return RN_OK;
}

static char meant_by(char c) { return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c; }

long longest_unescape(const char *s, size_t n, char *out) {
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t byte;
        if (s[i] != '\\') {
            out[n_out++] = s[i];
        } else if (i + 1 == n) {
            return -1;
        } else if (s[++i] != 'x') {
            out[n_out++] = meant_by(s[i]);
        } else if (n - i > 2 && hex_read(s + i + 1, 2, &byte)) {
            out[n_out++] = (char)byte;
            i += 2;
        } else {
            return -1;
        }
    }
    return (long)n_out;
}

size_t longest_escape(const char *s, size_t n, char *out) {
    static const char digits[] = "0123456789abcdef";
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t b = (uint8_t)s[i];
        const char letter = b == '\n' ? 'n' : b == '\r' ? 'r' : b == '\t' ? 't' : b == '\\' ? '\\' : 0;
        const bool is_plain = b >= 0x20 && b < 0x7f && !letter;
        if (!is_plain) out[n_out++] = '\\';
        if (letter)
            out[n_out++] = letter;
        else if (is_plain)
            out[n_out++] = s[i];
        else
            out[n_out++] = 'x', out[n_out++] = digits[b >> 4], out[n_out++] = digits[b & 15];
    }
    return n_out;
}
