// decoding/draft/ngram_counts.h - what followed each string of 1 to 4 tokens of a text, and how often: the context cache of llama.cpp's "lookup".
//
// Each token that is added or cut takes constant time, but for the cut of a string's most frequent continuation.
//
// Ownership: the text is lent, in each call the same one. Nothing is allocated after ngram_counts_init(). Threads: one at a time.
#ifndef RN_DECODING_DRAFT_NGRAM_COUNTS_H
#define RN_DECODING_DRAFT_NGRAM_COUNTS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NGRAM_ORDER = 4 }; // tokens of the longest string

// What followed a string.
struct ngram_best {
    int32_t token, count; // most often
    int64_t sum;          // of all counts; 0: nothing did
};

struct ngram_counts {
    struct counted_string *strings;     // [NGRAM_ORDER * n_most], in the order of their first places
    struct counted_pair *pairs;         // the same, of strings and what followed
    int32_t *string_heads, *pair_heads; // lists by hash
    uint32_t n_heads;                   // a power of two
    int32_t n_strings, n_pairs;
    int32_t n, n_most; // tokens of the text that are counted; that there is room for
};

rn_status ngram_counts_init(struct ngram_counts *c, int32_t n_most,
                            rn_error *err); // of at most so many tokens; RN_E_NOMEM
void ngram_counts_free(struct ngram_counts *c);

// Counts the text as far as n tokens, at most `most` more. Returns whether all are counted.
bool ngram_counts_add(struct ngram_counts *c, const int32_t *text, int32_t n, int32_t most);
// Only the first n tokens of the text stay; those behind are still there during the call.
void ngram_counts_cut(struct ngram_counts *c, const int32_t *text, int32_t n);

// The number of a string of n tokens, 1 to NGRAM_ORDER; -1: nothing followed it.
int32_t ngram_counts_find(const struct ngram_counts *c, const int32_t *text, const int32_t *string, int32_t n);
struct ngram_best ngram_counts_best(const struct ngram_counts *c, int32_t string);
int32_t ngram_counts_of(const struct ngram_counts *c, int32_t string, int32_t token); // how often it followed

#endif
