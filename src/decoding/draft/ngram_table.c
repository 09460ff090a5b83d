// decoding/draft/ngram_table.c - see ngram_table.h.
#include "decoding/draft/ngram_table.h"
#include "base/hash.h"
#include "base/mem.h"
#include <string.h>

struct ngram_table {
    struct ngram_entry *entries;
    struct ngram_pair *pairs;
    uint32_t *slots; // [n_slots], a power of two, at most half of them used: number of an entry + 1
    uint32_t n_slots, n_entries;
    uint32_t n_pairs;
};

rn_status ngram_table_create(size_t n_entries, size_t n_pairs, struct ngram_table **out, rn_error *err) {
    uint32_t n_slots = 16;
    struct ngram_table *const t = mem_calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return fail(err, RN_E_NOMEM, "n-gram cache: out of memory");
    while (n_slots < 2 * n_entries) n_slots *= 2;
    t->n_slots = n_slots;
    t->entries = mem_alloc(n_entries * sizeof *t->entries);
    t->pairs = mem_alloc(n_pairs * sizeof *t->pairs);
    t->slots = mem_calloc(n_slots, sizeof *t->slots);
    if (!t->entries || !t->pairs || !t->slots) {
        ngram_table_destroy(t);
        return fail(err, RN_E_NOMEM, "n-gram cache: out of memory for %zu strings", n_entries);
    }
    *out = t;
    return RN_OK;
}

void ngram_table_destroy(struct ngram_table *t) {
    if (!t) return;
    mem_free(t->entries);
    mem_free(t->pairs);
    mem_free(t->slots);
    mem_free(t);
}

// The slot of a string, or the empty one where it would be.
static uint32_t *slot_of(const struct ngram_table *t, const int32_t *string) {
    uint32_t i = (uint32_t)hash_bytes(string, NGRAM_ORDER * sizeof *string, 0) & (t->n_slots - 1);
    while (t->slots[i] && memcmp(t->entries[t->slots[i] - 1].string, string, NGRAM_ORDER * sizeof *string) != 0)
        i = (i + 1) & (t->n_slots - 1);
    return &t->slots[i];
}

bool ngram_table_add(struct ngram_table *t, const int32_t *string, const struct ngram_pair *pairs, int32_t n,
                     int64_t sum) {
    uint32_t *const slot = slot_of(t, string);
    if (*slot) return false;
    struct ngram_entry *const e = &t->entries[t->n_entries++];
    *e = (struct ngram_entry){.first = t->n_pairs, .n = n, .sum = sum};
    memcpy(e->string, string, sizeof e->string);
    memcpy(t->pairs + t->n_pairs, pairs, (size_t)n * sizeof *pairs);
    t->n_pairs += (uint32_t)n;
    *slot = t->n_entries;
    return true;
}

const struct ngram_entry *ngram_table_find(const struct ngram_table *t, const int32_t *string, int32_t n) {
    int32_t padded[NGRAM_ORDER];
    for (int32_t i = 0; i < NGRAM_ORDER; i++) padded[i] = i < n ? string[i] : -1;
    const uint32_t at = *slot_of(t, padded);
    return at ? &t->entries[at - 1] : NULL;
}

const struct ngram_pair *ngram_table_pairs(const struct ngram_table *t, const struct ngram_entry *e) {
    return t->pairs + e->first;
}
