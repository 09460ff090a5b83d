// decoding/draft/ngram_index.h - where the end of a text stood before in it: prompt lookup in linear time.
//
// Every position is in a list of those that end with the same two tokens. The match is the longest of the most recent of these, so a look takes bounded
// time, and adding a token constant time. Prompt lookup is Saxena's (2023), as transformers has it, which takes the earliest occurrence and looks
// at every window; here it is the longest, and the most recent of equally long ones.
//
// Ownership: the tokens are lent for each call and must begin with those of the calls before, but for what ngram_index_cut() dropped.
// Threads: one at a time.
#ifndef RN_DECODING_DRAFT_NGRAM_INDEX_H
#define RN_DECODING_DRAFT_NGRAM_INDEX_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

enum {
    NGRAM_LEAST = 2,    // tokens of the shortest match
    NGRAM_LONGEST = 64, // longer matches count as this long
    NGRAM_LOOKS = 32    // places that are compared for one look
};

struct ngram_index {
    // [n_heads], a power of two: the last position + 1 that ends with a pair of tokens of this hash; 0: none.
    int32_t *heads;
    int32_t *before; // [n_most] the one before it with the same hash, + 1; 0: none
    uint32_t n_heads;
    int32_t n, n_most; // tokens that are in it, and at most
};

// RN_E_NOMEM.
rn_status ngram_index_init(struct ngram_index *x, int32_t n_most, rn_error *err);
size_t ngram_index_bytes(int32_t n_most);     // that one of so many tokens allocates
void ngram_index_free(struct ngram_index *x); // of {0}, too
// Adds tokens[x->n .. n). Those beyond n_most are left out.
void ngram_index_add(struct ngram_index *x, const int32_t *tokens, int32_t n);
// Only the first n tokens stay. tokens: as they were added.
void ngram_index_cut(struct ngram_index *x, const int32_t *tokens, int32_t n);

struct ngram_match {
    int32_t at; // the position behind the earlier occurrence, where its continuation begins
    int32_t n;  // tokens that match, at most NGRAM_LONGEST; 0: fewer than NGRAM_LEAST do
};
// The longest earlier occurrence of the end of the text, tokens[0 .. x->n).
struct ngram_match ngram_index_find(const struct ngram_index *x, const int32_t *tokens);

#endif
