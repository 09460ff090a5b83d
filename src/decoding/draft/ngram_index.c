// decoding/draft/ngram_index.c - see ngram_index.h.
#include "decoding/draft/ngram_index.h"
#include "base/mem.h"

static uint32_t heads_for(int32_t n_most) {
    uint32_t n = 64;
    while (n < (uint32_t)n_most) n *= 2;
    return n;
}

size_t ngram_index_bytes(int32_t n_most) {
    return heads_for(n_most) * sizeof *((struct ngram_index *)0)->heads +
           (size_t)n_most * sizeof *((struct ngram_index *)0)->before;
}

rn_status ngram_index_init(struct ngram_index *x, int32_t n_most, rn_error *err) {
    *x = (struct ngram_index){.n_heads = heads_for(n_most), .n_most = n_most};
    x->heads = mem_calloc(x->n_heads, sizeof *x->heads);
    x->before = mem_alloc((size_t)n_most * sizeof *x->before);
    if (x->heads && x->before) return RN_OK;
    ngram_index_free(x);
    return fail(err, RN_E_NOMEM, "drafts: out of memory for a text of %d tokens", n_most);
}

void ngram_index_free(struct ngram_index *x) {
    mem_free(x->heads);
    mem_free(x->before);
    *x = (struct ngram_index){0};
}

// Of the tokens at - 1 and at. The multiplier is that of Knuth's multiplicative hashing.
static int32_t *head(const struct ngram_index *x, const int32_t *tokens, int32_t at) {
    const uint32_t pair = (uint32_t)tokens[at - 1] * 2654435761U ^ (uint32_t)tokens[at];
    return &x->heads[(pair * 2654435761U >> 7) & (x->n_heads - 1)];
}

void ngram_index_add(struct ngram_index *x, const int32_t *tokens, int32_t n) {
    if (n > x->n_most) n = x->n_most;
    for (; x->n < n; x->n++) {
        if (x->n == 0) continue;
        int32_t *const last = head(x, tokens, x->n);
        x->before[x->n] = *last;
        *last = x->n + 1;
    }
}

void ngram_index_cut(struct ngram_index *x, const int32_t *tokens, int32_t n) {
    for (; x->n > n; x->n--)
        if (x->n > 1) *head(x, tokens, x->n - 1) = x->before[x->n - 1];
}

// How many tokens before position `at`, which is included, equal those before the end.
static int32_t match(const int32_t *tokens, int32_t at, int32_t end) {
    int32_t n = 0;
    while (n < NGRAM_LONGEST && n <= at && tokens[at - n] == tokens[end - n]) n++;
    return n;
}

struct ngram_match ngram_index_find(const struct ngram_index *x, const int32_t *tokens) {
    struct ngram_match best = {0};
    const int32_t end = x->n - 1;
    if (end < NGRAM_LEAST) return best;
    int32_t place = x->before[end];
    for (int looks = 0; place && looks < NGRAM_LOOKS && best.n < NGRAM_LONGEST; looks++) {
        const int32_t n = match(tokens, place - 1, end);
        if (n >= NGRAM_LEAST && n > best.n) best = (struct ngram_match){place, n};
        place = x->before[place - 1];
    }
    return best;
}
