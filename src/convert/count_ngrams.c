// convert/count_ngrams.c - rn_ngram_cache_*: counts what follows strings of tokens in texts, and writes the counts in llama.cpp's format.
#include "base/file_map.h"
#include "base/hash.h"
#include "base/mem.h"
#include "formats/limits.h"
#include "formats/ngram_file.h"
#include <runnel/tools.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_BYTES = 4 * NGRAM_FILE_ORDER + 4, PAIR_BYTES = 8 };

// A string, -1 behind a shorter one, and a token behind it.
struct pair {
    int32_t string[NGRAM_FILE_ORDER], token;
    int32_t count; // at most INT32_MAX
};

struct rn_ngram_cache {
    struct pair *pairs;
    uint32_t n, max;
    uint32_t *slots; // [n_slots], a power of two, at most half of them used: number of a pair + 1
    uint32_t n_slots;
    int32_t n_vocab;
};

rn_status rn_ngram_cache_new(const rn_model *model, rn_ngram_cache **cache, rn_error *err) {
    rn_model_info info = {.struct_size = sizeof info};
    if (cache) *cache = NULL;
    if (!model || !cache) return fail(err, RN_E_ARG, "rn_ngram_cache_new: NULL argument");
    const rn_status st = rn_model_get_info(model, &info, err);
    if (st != RN_OK) return st;
    if (!(*cache = mem_calloc(1, sizeof **cache))) return fail(err, RN_E_NOMEM, "n-gram cache: out of memory");
    (*cache)->n_vocab = info.n_vocab;
    return RN_OK;
}

void rn_ngram_cache_close(rn_ngram_cache *c) {
    if (!c) return;
    mem_free(c->pairs);
    mem_free(c->slots);
    mem_free(c);
}

// The slot of a string with its token, or the empty one where it would be.
static uint32_t *slot_of(const rn_ngram_cache *c, const struct pair *p) {
    const size_t n = sizeof p->string + sizeof p->token; // the two lie side by side
    uint32_t i = (uint32_t)hash_bytes(p, n, 0) & (c->n_slots - 1);
    while (c->slots[i] && memcmp(&c->pairs[c->slots[i] - 1], p, n) != 0) i = (i + 1) & (c->n_slots - 1);
    return &c->slots[i];
}
_Static_assert(offsetof(struct pair, token) == NGRAM_FILE_ORDER * sizeof(int32_t), "a pair's key has no gap");

static bool grow_slots(rn_ngram_cache *c) {
    const uint32_t n = c->n_slots ? 2 * c->n_slots : 1024;
    uint32_t *const slots = mem_calloc(n, sizeof *slots);
    if (!slots) return false;
    mem_free(c->slots);
    c->slots = slots, c->n_slots = n;
    for (uint32_t i = 0; i < c->n; i++) *slot_of(c, &c->pairs[i]) = i + 1;
    return true;
}

static rn_status add(rn_ngram_cache *c, const int32_t *string, int32_t n, int32_t token, int32_t count,
                     rn_error *err) {
    struct pair p = {.token = token, .count = count};
    for (int32_t i = 0; i < NGRAM_FILE_ORDER; i++) p.string[i] = i < n ? string[i] : -1;
    uint32_t *slot = c->n_slots ? slot_of(c, &p) : NULL;
    if (slot && *slot) {
        int32_t *const had = &c->pairs[*slot - 1].count;
        *had = count > INT32_MAX - *had ? INT32_MAX : *had + count;
        return RN_OK;
    }
    // Each with a record of its own, so many fill a file.
    if (c->n == NGRAM_FILE_MAX_BYTES / (RECORD_BYTES + PAIR_BYTES))
        return fail(err, RN_E_LIMIT, "n-gram cache: more than %u strings and tokens", c->n);
    if (!mem_grow(&c->pairs, c->n, &c->max, 1024, sizeof *c->pairs) ||
        (2 * (c->n + 1) > c->n_slots && !grow_slots(c)))
        return fail(err, RN_E_NOMEM, "n-gram cache: out of memory for %u strings", c->n + 1);
    slot = slot_of(c, &p);
    c->pairs[c->n++] = p;
    *slot = c->n;
    return RN_OK;
}

rn_status rn_ngram_cache_add_text(rn_ngram_cache *c, const int32_t *ids, size_t n_ids, int32_t shortest,
                                  int32_t longest, rn_error *err) {
    rn_status st = RN_OK;
    if (!c || (!ids && n_ids)) return fail(err, RN_E_ARG, "rn_ngram_cache_add_text: NULL argument");
    if (shortest < 1 || longest < shortest || longest > NGRAM_FILE_ORDER)
        return fail(err, RN_E_ARG, "n-gram cache: strings of %d to %d tokens, must be 1 to %d", shortest, longest,
                    NGRAM_FILE_ORDER);
    for (size_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= c->n_vocab)
            return fail(err, RN_E_ARG, "n-gram cache: token %d is outside 0..%d", ids[i], c->n_vocab - 1);
    for (size_t i = 1; i < n_ids && st == RN_OK; i++)
        for (int32_t n = shortest; n <= longest && (size_t)n <= i && st == RN_OK; n++)
            st = add(c, ids + i - (size_t)n, n, ids[i], 1, err);
    return st;
}

static rn_status add_records(rn_ngram_cache *c, const char *path, const struct file_map *file, rn_error *err) {
    struct ngram_reader r;
    struct ngram_record x;
    rn_status st = ngram_reader_begin(&r, path, file->data, file->size, c->n_vocab, err);
    while (st == RN_OK && (st = ngram_reader_next(&r, &x, err)) == RN_OK && x.n)
        for (size_t i = 0; i < x.n_pairs && st == RN_OK; i++) {
            int32_t token, count;
            ngram_record_pair(&x, i, &token, &count);
            st = add(c, x.string, x.n, token, count, err);
        }
    return st;
}

rn_status rn_ngram_cache_add_file(rn_ngram_cache *c, const char *path, rn_error *err) {
    struct file_map file;
    if (!c || !path) return fail(err, RN_E_ARG, "rn_ngram_cache_add_file: NULL argument");
    rn_status st = file_map_open(path, FILE_LOAD_READ, NULL, NULL, &file, err);
    if (st != RN_OK) return st;
    st = add_records(c, path, &file, err);
    file_map_close(&file);
    return st;
}

static bool is_same_string(const struct pair *a, const struct pair *b) {
    return memcmp(a->string, b->string, sizeof a->string) == 0;
}

// By the string's tokens, then the highest count first, then by the token.
static int order(const void *x, const void *y) {
    const struct pair *const a = x, *const b = y;
    for (int i = 0; i < NGRAM_FILE_ORDER; i++)
        if (a->string[i] != b->string[i]) return a->string[i] < b->string[i] ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

static void sort(rn_ngram_cache *c) {
    if (c->n == 0) return;
    qsort(c->pairs, c->n, sizeof *c->pairs, order);
    memset(c->slots, 0, c->n_slots * sizeof *c->slots); // the pairs have other numbers now
    for (uint32_t i = 0; i < c->n; i++) *slot_of(c, &c->pairs[i]) = i + 1;
}

void rn_ngram_cache_size(rn_ngram_cache *c, size_t *n_strings, size_t *n_pairs) {
    size_t strings = 0;
    if (!c) return;
    sort(c);
    for (uint32_t i = 0; i < c->n; i++) strings += i == 0 || !is_same_string(&c->pairs[i - 1], &c->pairs[i]);
    if (n_strings) *n_strings = strings;
    if (n_pairs) *n_pairs = c->n;
}

static rn_status put(file_out *f, int32_t number, rn_error *err) {
    const uint32_t x = (uint32_t)number;
    const uint8_t bytes[4] = {(uint8_t)x, (uint8_t)(x >> 8), (uint8_t)(x >> 16), (uint8_t)(x >> 24)};
    return file_out_write(f, bytes, sizeof bytes, err);
}

static rn_status write_pairs(const rn_ngram_cache *c, file_out *f, rn_error *err) {
    rn_status st = RN_OK;
    for (uint32_t i = 0; i < c->n && st == RN_OK; i++) {
        const struct pair *const p = &c->pairs[i];
        if (i == 0 || !is_same_string(p - 1, p)) {
            uint32_t end = i;
            while (end < c->n && is_same_string(p, &c->pairs[end])) end++;
            for (int k = 0; k < NGRAM_FILE_ORDER && st == RN_OK; k++) st = put(f, p->string[k], err);
            if (st == RN_OK) st = put(f, (int32_t)(end - i), err);
        }
        if (st == RN_OK) st = put(f, p->token, err);
        if (st == RN_OK) st = put(f, p->count, err);
    }
    return st;
}

rn_status rn_ngram_cache_write(rn_ngram_cache *c, const char *path, rn_error *err) {
    file_out *f;
    if (!c || !path) return fail(err, RN_E_ARG, "rn_ngram_cache_write: NULL argument");
    if (c->n == 0) return fail(err, RN_E_ARG, "%s: the n-gram cache is empty", path);
    sort(c);
    rn_status st = file_out_begin(path, FILE_BY_UMASK, &f, err);
    if (st != RN_OK) return st;
    st = write_pairs(c, f, err);
    if (st == RN_OK) return file_out_commit(f, err);
    file_out_abandon(f);
    return st;
}
