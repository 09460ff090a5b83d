// decoding/draft/ngram_table.h - what followed strings of 1 to 4 tokens in other texts, and how often: a cache file (formats/ngram_file.h) in memory.
//
// Of each string the NGRAM_FOLLOWERS most frequent tokens are kept, and the sum of all counts.
//
// Ownership: made by ngram_table_create(), freed by ngram_table_destroy(). Threads: any, once it is filled.
#ifndef RN_DECODING_DRAFT_NGRAM_TABLE_H
#define RN_DECODING_DRAFT_NGRAM_TABLE_H

#include "base/status.h"
#include "decoding/draft/ngram_counts.h"
#include <stdbool.h>

enum { NGRAM_FOLLOWERS = 32 };

struct ngram_pair {
    int32_t token, count;
};
struct ngram_entry {
    int32_t string[NGRAM_ORDER]; // -1 behind a shorter one
    uint32_t first;              // of its pairs
    int32_t n;                   // pairs, the highest count first, the lower token of equals
    int64_t sum;                 // of all counts
};
struct ngram_table;

// Room for so many strings with so many pairs. RN_E_NOMEM.
rn_status ngram_table_create(size_t n_entries, size_t n_pairs, struct ngram_table **out, rn_error *err);
void ngram_table_destroy(struct ngram_table *t); // NULL is fine
/**
 * Adds a string; there is room for it.
 *
 * @param string [NGRAM_ORDER], -1 behind a shorter one.
 * @param pairs  [n], 1 to NGRAM_FOLLOWERS, in order.
 * @return false: it is there already.
 */
bool ngram_table_add(struct ngram_table *t, const int32_t *string, const struct ngram_pair *pairs, int32_t n,
                     int64_t sum);

// A string of n tokens; NULL: it is not there.
const struct ngram_entry *ngram_table_find(const struct ngram_table *t, const int32_t *string, int32_t n);
const struct ngram_pair *ngram_table_pairs(const struct ngram_table *t, const struct ngram_entry *e);

#endif
