// tokenizer/char_bpe.c - BPE over characters, by the shared merge loop (windows.h).
#include "tokenizer/char_bpe.h"
#include "text/utf8.h"
#include "tokenizer/byte_tokens.h"
#include "tokenizer/windows.h"

rn_status char_bpe_init(struct char_bpe *b, const struct vocab *v, const struct token_table *tokens, rn_error *err) {
    *b = (struct char_bpe){.v = v, .tokens = tokens};
    byte_tokens_find(v, b->byte_id);
    return merge_table_init(&b->merges, v, tokens, err);
}

void char_bpe_free(struct char_bpe *b) {
    merge_table_free(&b->merges);
    *b = (struct char_bpe){0};
}

static bool joins(const void *rules, const char *word, const struct merge_symbol *left,
                  const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
    (void)word;
    const struct char_bpe *const b = rules;
    return merge_table_find(&b->merges, left->id, right->id, rank, id);
}

static bool has_bytes(const struct char_bpe *b, const char *s, size_t n) {
    bool has_all = b->v->has_byte_tokens;
    for (size_t i = 0; i < n && has_all; i++) has_all = b->byte_id[(uint8_t)s[i]] >= 0;
    return has_all;
}

// Adds the character word[at..at+n), which has no token, as byte tokens or as the unknown token;
// with fuse_unk, consecutive unknown characters are one symbol. Without an unknown token the
// character is skipped, and its neighbours may merge, as in the reference implementation.
static void add_unknown(const struct char_bpe *b, struct merger *m, const char *word, size_t at, size_t n) {
    const int32_t unk = b->v->unk;
    struct merge_symbol *const last = m->n_symbols > 0 ? &m->symbols[m->n_symbols - 1] : NULL;
    if (has_bytes(b, word + at, n)) {
        for (size_t i = at; i < at + n; i++) merger_add(m, (uint32_t)i, 1, b->byte_id[(uint8_t)word[i]]);
    } else if (unk < 0) {
        return;
    } else if (b->v->fuse_unk && last && last->id == unk) {
        last->n += (uint32_t)n;
    } else {
        merger_add(m, (uint32_t)at, (uint32_t)n, unk);
    }
}

static size_t add_symbols(const void *rules, struct merger *m, const char *word, size_t begin, size_t end, size_t n) {
    const struct char_bpe *const b = rules;
    size_t i = begin;
    for (size_t len; i < end; i += len) {
        const int n_char = utf8_char_len(word + i, n - i);
        len = n_char > 0 ? (size_t)n_char : 1;
        const int32_t id = token_table_find(b->tokens, word + i, len);
        if (id >= 0)
            merger_add(m, (uint32_t)i, (uint32_t)len, id);
        else
            add_unknown(b, m, word, i, len);
    }
    return i;
}

struct encoding {
    struct id_list *ids;
    size_t n_used;
};

static bool emit(void *user, const char *word, size_t pos, size_t end, size_t n, int32_t id) {
    (void)word, (void)pos, (void)end;
    struct encoding *const e = user;
    e->n_used += n;
    return id_list_add(e->ids, id);
}

rn_status char_bpe_encode(const struct char_bpe *b, const char *word, size_t n, struct merger *m, struct id_list *ids,
                          size_t *n_dropped, rn_error *err) {
    const struct window_rules rules = {b, add_symbols, joins, emit};
    struct encoding e = {.ids = ids};
    if (!windows_encode(m, &rules, word, n, WINDOW_BYTES, &e))
        return fail(err, RN_E_NOMEM, "text: out of memory for a word of %zu bytes", n);
    *n_dropped += n - e.n_used;
    return RN_OK;
}
