// tokenizer/bpe.c - byte-level BPE, by the shared merge loop (windows.h).
#include "tokenizer/bpe.h"
#include "tokenizer/loose_utf8.h"
#include "tokenizer/windows.h"

rn_status bpe_init(struct bpe *b, const struct vocab *v, const struct token_table *tokens, rn_error *err) {
    *b = (struct bpe){.tokens = tokens};
    for (int i = 0; i < 256; i++) {
        const char byte = (char)i;
        b->byte_id[i] = token_table_find(tokens, &byte, 1);
    }
    rn_status st = pre_tokenizer_create(v, &b->pre, err);
    if (st == RN_OK) st = merge_table_init(&b->merges, v, tokens, err);
    if (st != RN_OK) bpe_free(b);
    return st;
}

void bpe_free(struct bpe *b) {
    merge_table_free(&b->merges);
    pre_tokenizer_destroy(b->pre);
    *b = (struct bpe){0};
}

static bool joins(const void *rules, const char *word, const struct merge_symbol *left,
                  const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
    (void)word;
    const struct bpe *const b = rules;
    return left->id >= 0 && right->id >= 0 && merge_table_find(&b->merges, left->id, right->id, rank, id);
}

struct encoding {
    const struct bpe *b;
    const char *bytes;
    struct merger *m;
    struct id_list *ids;
    size_t *n_dropped, max_ids;
};

static size_t add_symbols(const void *rules, struct merger *m, const char *word, size_t begin, size_t end, size_t n) {
    (void)n;
    const struct bpe *const b = rules;
    for (size_t i = begin; i < end; i++) merger_add(m, (uint32_t)i, 1, b->byte_id[(uint8_t)word[i]]);
    return end;
}

static bool emit(void *user, const char *word, size_t pos, size_t end, size_t n, int32_t id) {
    (void)word, (void)pos, (void)end, (void)n;
    const struct encoding *const e = user;
    if (id < 0) {
        ++*e->n_dropped;
        return true;
    }
    return id_list_add(e->ids, id);
}

static rn_status no_memory(size_t n, rn_error *err) {
    return fail(err, RN_E_NOMEM, "text: out of memory for a word of %zu bytes", n);
}

static rn_status encode_word(void *user, size_t pos, size_t n, rn_error *err) {
    const struct encoding *const e = user;
    const char *const word = e->bytes + pos;
    if (e->ids->n > e->max_ids) return id_list_over(e->ids, err);
    if (pre_tokenizer_takes_whole_words(e->b->pre)) {
        const int32_t id = token_table_find(e->b->tokens, word, n);
        if (id >= 0) return id_list_add(e->ids, id) ? RN_OK : no_memory(n, err);
    }
    const struct window_rules rules = {e->b, add_symbols, joins, emit};
    return windows_encode(e->m, &rules, word, n, WINDOW_BYTES, user) ? RN_OK : no_memory(n, err);
}

rn_status bpe_encode(const struct bpe *b, const char *text, size_t n, size_t max_ids, struct merger *m,
                     struct id_list *ids, size_t *n_dropped, rn_error *err) {
    struct loose_text t;
    if (!loose_text_init(&t, text, n)) return fail(err, RN_E_NOMEM, "text: out of memory for %zu bytes", n);
    struct encoding e = {.b = b, .bytes = t.bytes, .m = m, .ids = ids, .n_dropped = n_dropped, .max_ids = max_ids};
    const rn_status st = pre_tokenizer_split(b->pre, t.subject, t.n, encode_word, &e, err);
    loose_text_free(&t);
    return st;
}
