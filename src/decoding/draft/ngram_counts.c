// decoding/draft/ngram_counts.c - see ngram_counts.h.
//
// A token that is added makes at most one string and one pair of each length, at the ends of the arrays and in front of their hash lists. Tokens
// are cut in the opposite order, so what they made is there again when it is their turn.
#include "decoding/draft/ngram_counts.h"
#include "base/hash.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum { NONE = -1 };

struct counted_string {
    int32_t at;                // behind its first place
    int32_t n;                 // tokens
    int32_t sum, best, newest; // of counts; pairs
    int32_t same_hash;
};

struct counted_pair {
    int32_t string, token, count;
    int32_t older; // of the string's
    int32_t same_hash;
};

static uint32_t heads_for(int32_t n_most) {
    uint32_t n = 16;
    while (n < (uint32_t)n_most * NGRAM_ORDER / 2) n *= 2;
    return n;
}

rn_status ngram_counts_init(struct ngram_counts *c, int32_t n_most, rn_error *err) {
    const size_t n = (size_t)n_most * NGRAM_ORDER;
    *c = (struct ngram_counts){.n_most = n_most, .n_heads = heads_for(n_most)};
    c->strings = mem_alloc(n * sizeof *c->strings);
    c->pairs = mem_alloc(n * sizeof *c->pairs);
    c->string_heads = mem_alloc(c->n_heads * sizeof *c->string_heads);
    c->pair_heads = mem_alloc(c->n_heads * sizeof *c->pair_heads);
    if (!c->strings || !c->pairs || !c->string_heads || !c->pair_heads) {
        ngram_counts_free(c);
        return fail(err, RN_E_NOMEM, "ngram-cache: out of memory for a text of %d tokens", n_most);
    }
    memset(c->string_heads, 0xFF, c->n_heads * sizeof *c->string_heads); // NONE
    memset(c->pair_heads, 0xFF, c->n_heads * sizeof *c->pair_heads);
    return RN_OK;
}

void ngram_counts_free(struct ngram_counts *c) {
    mem_free(c->strings);
    mem_free(c->pairs);
    mem_free(c->string_heads);
    mem_free(c->pair_heads);
    *c = (struct ngram_counts){0};
}

static int32_t *string_head(const struct ngram_counts *c, const int32_t *string, int32_t n) {
    return &c->string_heads[hash_bytes(string, (size_t)n * sizeof *string, (uint64_t)n) & (c->n_heads - 1)];
}

static int32_t *pair_head(const struct ngram_counts *c, int32_t string, int32_t token) {
    return &c->pair_heads[hash_u64((uint64_t)(uint32_t)string << 32 | (uint32_t)token, 0) & (c->n_heads - 1)];
}

int32_t ngram_counts_find(const struct ngram_counts *c, const int32_t *text, const int32_t *string, int32_t n) {
    int32_t i = *string_head(c, string, n);
    while (i != NONE &&
           (c->strings[i].n != n || memcmp(text + c->strings[i].at - n, string, (size_t)n * sizeof *string) != 0))
        i = c->strings[i].same_hash;
    return i;
}

static int32_t find_pair(const struct ngram_counts *c, int32_t string, int32_t token) {
    int32_t i = *pair_head(c, string, token);
    while (i != NONE && (c->pairs[i].string != string || c->pairs[i].token != token)) i = c->pairs[i].same_hash;
    return i;
}

struct ngram_best ngram_counts_best(const struct ngram_counts *c, int32_t string) {
    const struct counted_string *const s = &c->strings[string];
    return (struct ngram_best){c->pairs[s->best].token, c->pairs[s->best].count, s->sum};
}

int32_t ngram_counts_of(const struct ngram_counts *c, int32_t string, int32_t token) {
    const int32_t pair = find_pair(c, string, token);
    return pair == NONE ? 0 : c->pairs[pair].count;
}

static void add_one(struct ngram_counts *c, const int32_t *text, int32_t at, int32_t n) {
    int32_t string = ngram_counts_find(c, text, text + at - n, n);
    if (string == NONE) {
        int32_t *const head = string_head(c, text + at - n, n);
        string = c->n_strings++;
        c->strings[string] = (struct counted_string){at, n, 0, NONE, NONE, *head};
        *head = string;
    }
    struct counted_string *const s = &c->strings[string];
    int32_t pair = find_pair(c, string, text[at]);
    if (pair == NONE) {
        int32_t *const head = pair_head(c, string, text[at]);
        pair = c->n_pairs++;
        c->pairs[pair] = (struct counted_pair){string, text[at], 0, s->newest, *head};
        *head = s->newest = pair;
    }
    s->sum++;
    c->pairs[pair].count++;
    if (s->best == NONE || c->pairs[pair].count >= c->pairs[s->best].count) s->best = pair; // the latest of equals
}

bool ngram_counts_add(struct ngram_counts *c, const int32_t *text, int32_t n, int32_t most) {
    if (n > c->n_most) n = c->n_most;
    const int32_t to = n - c->n > most ? c->n + most : n;
    for (; c->n < to; c->n++)
        for (int32_t k = 1; k <= NGRAM_ORDER && k <= c->n; k++) add_one(c, text, c->n, k);
    return c->n >= n;
}

static void take_one(struct ngram_counts *c, const int32_t *text, int32_t at, int32_t n) {
    const int32_t string = ngram_counts_find(c, text, text + at - n, n), pair = find_pair(c, string, text[at]);
    assert(string != NONE && pair != NONE);
    struct counted_string *const s = &c->strings[string];
    s->sum--;
    if (--c->pairs[pair].count == 0) {
        assert(pair == c->n_pairs - 1 && s->newest == pair);
        *pair_head(c, string, text[at]) = c->pairs[pair].same_hash;
        s->newest = c->pairs[pair].older;
        c->n_pairs--;
    }
    if (s->best == pair) {
        s->best = s->newest;
        for (int32_t i = s->newest; i != NONE; i = c->pairs[i].older)
            if (c->pairs[i].count > c->pairs[s->best].count) s->best = i;
    }
    if (s->sum > 0) return;
    assert(string == c->n_strings - 1);
    *string_head(c, text + at - n, n) = s->same_hash;
    c->n_strings--;
}

void ngram_counts_cut(struct ngram_counts *c, const int32_t *text, int32_t n) {
    while (c->n > n) {
        c->n--;
        for (int32_t k = c->n < NGRAM_ORDER ? c->n : NGRAM_ORDER; k >= 1; k--) take_one(c, text, c->n, k);
    }
}
