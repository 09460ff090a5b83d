// grammar/vocab_trie.c - see vocab_trie.h.
#include "grammar/vocab_trie.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

const uint8_t slice_chars[N_SLICE_SIZES] = {1, 2, 4, 8, 16, SLICE_MOST_CHARS};

struct entry {
    const char *bytes;
    uint32_t n, token;
};

static int by_bytes(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    const int c = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);
    if (c) return c;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

// Of a valid character at s: its bytes; 0: none.
static uint32_t char_bytes(const uint8_t *s, uint32_t n) {
    const uint32_t want = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (want == 0 || want > n) return 0;
    for (uint32_t i = 1; i < want; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)) return 0; // overlong; surrogates
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) return 0; // overlong; above U+10FFFF
    return want;
}

static bool is_word(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

// The smallest slice of a token. False: none.
static bool slice_of(const struct entry *x, int *kind, int *size, uint32_t *n_chars) {
    *kind = SLICE_WORD, *size = 0, *n_chars = 0;
    for (uint32_t i = 0, n; i < x->n; i += n, ++*n_chars) {
        const uint8_t c = (uint8_t)x->bytes[i];
        n = char_bytes((const uint8_t *)x->bytes + i, x->n - i);
        if (n == 0 || c < 0x20 || c == '"' || c == '\\') return false;
        if (!is_word(c)) *kind = SLICE_PLAIN;
    }
    while (*size < N_SLICE_SIZES && *n_chars > slice_chars[*size]) ++*size;
    return *size < N_SLICE_SIZES;
}

// entries: sorted, no two with the same bytes. Nodes are written depth first.
static rn_status make_trie(struct byte_trie *t, const struct entry *x, size_t n, rn_error *err) {
    size_t n_nodes = 0;
    for (int b = 0; b < 256; b++) t->root[b] = TRIE_NO_TOKEN;
    for (size_t i = 0; i < n; i++) {
        uint32_t common = 0;
        while (i > 0 && common < x[i].n && common < x[i - 1].n && x[i].bytes[common] == x[i - 1].bytes[common])
            common++;
        n_nodes += x[i].n - common;
    }
    t->nodes = mem_alloc((n_nodes ? n_nodes : 1) * sizeof *t->nodes);
    uint32_t *const path = mem_alloc((UINT16_MAX + 1) * sizeof *path); // the nodes that lead to the last token
    if (!t->nodes || !path) {
        mem_free(path);
        return fail(err, RN_E_NOMEM, "vocabulary: out of memory for %zu nodes of a trie", n_nodes);
    }
    uint32_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t common = 0;
        while (i > 0 && common < x[i].n && common < x[i - 1].n && x[i].bytes[common] == x[i - 1].bytes[common])
            common++;
        for (uint32_t k = common; k < depth; k++) t->nodes[path[k]].size = t->n_nodes - path[k];
        for (depth = common; depth < x[i].n; depth++) {
            const uint8_t byte = (uint8_t)x[i].bytes[depth];
            if (depth == 0) t->root[byte] = t->n_nodes;
            path[depth] = t->n_nodes;
            t->nodes[t->n_nodes++] = (struct byte_trie_node){TRIE_NO_TOKEN, 1, (uint16_t)depth, byte};
        }
        t->nodes[t->n_nodes - 1].token = x[i].token;
    }
    for (uint32_t k = 0; k < depth; k++) t->nodes[path[k]].size = t->n_nodes - path[k];
    mem_free(path);
    return RN_OK;
}

static void set_token(const struct vocab_trie *v, uint64_t *mask, uint32_t token) {
    for (; token != TRIE_NO_TOKEN; token = v->same[token]) mask[token >> 6] |= UINT64_C(1) << (token & 63);
}

// Tries of those entries that are in a slice, or in none (kind N_SLICE_KINDS). part: room for all.
static rn_status make_slice(struct vocab_trie *v, int kind, int size, const struct entry *x, size_t n,
                            struct entry *part, rn_error *err) {
    const bool is_rest = kind == N_SLICE_KINDS;
    size_t n_part = 0;
    for (size_t i = 0; i < n; i++) {
        int k, s;
        uint32_t n_chars;
        const bool is_in = slice_of(&x[i], &k, &s, &n_chars);
        if (is_rest ? !is_in : is_in && k == kind && s == size) part[n_part++] = x[i];
    }
    return make_trie(is_rest ? &v->rest : &v->slices[kind][size], part, n_part, err);
}

static rn_status make_masks(struct vocab_trie *v, const struct entry *x, size_t n, rn_error *err) {
    for (int k = 0; k < N_SLICE_KINDS; k++)
        for (int c = 0; c < SLICE_MOST_CHARS; c++)
            if (!(v->masks[k][c] = mem_calloc(v->n_words, sizeof *v->masks[k][c])))
                return fail(err, RN_E_NOMEM, "vocabulary: out of memory for a mask");
    for (size_t i = 0; i < n; i++) {
        int kind, size;
        uint32_t n_chars;
        if (!slice_of(&x[i], &kind, &size, &n_chars)) continue;
        for (; kind < N_SLICE_KINDS; kind++) set_token(v, v->masks[kind][n_chars - 1], x[i].token);
    }
    for (int k = 0; k < N_SLICE_KINDS; k++)
        for (int c = 1; c < SLICE_MOST_CHARS; c++)
            for (size_t w = 0; w < v->n_words; w++) v->masks[k][c][w] |= v->masks[k][c - 1][w];
    return RN_OK;
}

rn_status vocab_trie_init(struct vocab_trie *v, const struct token_bytes *tokens, int32_t n_tokens, rn_error *err) {
    *v = (struct vocab_trie){.n_tokens = n_tokens, .n_words = ((size_t)n_tokens + 63) / 64};
    struct entry *const x = mem_alloc(((size_t)n_tokens * 2 + 1) * sizeof *x);
    v->same = mem_alloc(((size_t)n_tokens + 1) * sizeof *v->same);
    size_t n = 0, m = 0;
    rn_status st = x && v->same ? RN_OK : fail(err, RN_E_NOMEM, "vocabulary: out of memory for %d tokens", n_tokens);
    for (int32_t i = 0; st == RN_OK && i < n_tokens; i++) {
        v->same[i] = TRIE_NO_TOKEN;
        if (tokens[i].n > 0 && tokens[i].n <= UINT16_MAX)
            x[n++] = (struct entry){tokens[i].bytes, tokens[i].n, (uint32_t)i};
    }
    if (st == RN_OK && n) qsort(x, n, sizeof *x, by_bytes);
    for (size_t i = 0; i < n; i++) {
        if (x[i].n > v->max_depth) v->max_depth = x[i].n;
        if (m > 0 && x[m - 1].n == x[i].n && memcmp(x[m - 1].bytes, x[i].bytes, x[i].n) == 0) {
            v->same[x[i].token] = v->same[x[m - 1].token];
            v->same[x[m - 1].token] = x[i].token;
        } else {
            x[m++] = x[i];
        }
    }
    if (st == RN_OK) st = make_trie(&v->all, x, m, err);
    for (int k = 0; k <= N_SLICE_KINDS && st == RN_OK; k++)
        for (int s = 0; s < (k < N_SLICE_KINDS ? N_SLICE_SIZES : 1) && st == RN_OK; s++)
            st = make_slice(v, k, s, x, m, x + n_tokens, err);
    if (st == RN_OK) st = make_masks(v, x, m, err);
    mem_free(x);
    if (st != RN_OK) vocab_trie_free(v);
    return st;
}

void vocab_trie_free(struct vocab_trie *v) {
    mem_free(v->same), mem_free(v->all.nodes), mem_free(v->rest.nodes);
    for (int k = 0; k < N_SLICE_KINDS; k++) {
        for (int s = 0; s < N_SLICE_SIZES; s++) mem_free(v->slices[k][s].nodes);
        for (int c = 0; c < SLICE_MOST_CHARS; c++) mem_free(v->masks[k][c]);
    }
    *v = (struct vocab_trie){0};
}
