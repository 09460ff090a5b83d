// tokenizer/merger.h - joins neighbouring symbols of a word, best pair first, until no rule applies: the loop that SentencePiece's
// BPE and byte-level BPE share. n log n in the length of the word.
//
// A pair is chosen by its rank (lower first), of equal ranks the leftmost. The memory is kept from word to word.
// Ownership: zero = ready; merger_free(). Threads: one at a time.
#ifndef RN_TOKENIZER_MERGER_H
#define RN_TOKENIZER_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_symbol {
    uint32_t pos, n;    // its bytes in the word; n = 0: joined to the one on its left
    int32_t id;         // -1: not known as a token
    int32_t prev, next; // -1: none
};

struct merger {
    struct merge_symbol *symbols;
    size_t n_symbols, cap;
    struct merge_candidate *heap;
    size_t n_heap;
};

// May left and right, neighbours in `word`, be joined? Then their rank and the id of both together.
typedef bool (*merge_rule)(const void *rules, const char *word, const struct merge_symbol *left,
                           const struct merge_symbol *right, uint32_t *rank, int32_t *id);

// Empties it and makes room for n symbols. false: out of memory.
bool merger_begin(struct merger *m, size_t n);
// Appends the symbol word[pos..pos+n); at most as many as begun for.
void merger_add(struct merger *m, uint32_t pos, uint32_t n, int32_t id);
// Then symbols[0] and its `next` chain are the result.
void merger_run(struct merger *m, const char *word, merge_rule rule, const void *rules);
void merger_free(struct merger *m);

#endif
