// tokenizer/merger.h - the merge loop that all kinds of BPE share: joins neighbouring symbols of a
// word, best pair first, until no rule applies. O(n log n) in the length of the word.
//
// The pair of the lowest rank is joined first, of equal ranks the leftmost. Memory is reused from
// word to word.
// Ownership: zero = ready; merger_free(). Threads: one at a time.
#ifndef RN_TOKENIZER_MERGER_H
#define RN_TOKENIZER_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_symbol {
    uint32_t pos, n;    // its bytes in the word; n = 0: it was joined to its left neighbour
    int32_t id;         // -1: not a token
    int32_t prev, next; // -1: none
};

struct merger {
    struct windows *windows; // windows.h; NULL: no long word yet
    struct merge_symbol *symbols;
    size_t n_symbols, cap;
    struct merge_candidate *heap;
    size_t n_heap;
};

// May the neighbours left and right in `word` be joined? If so, sets their rank and the id of the
// joined symbol.
typedef bool (*merge_rule)(const void *rules, const char *word, const struct merge_symbol *left,
                           const struct merge_symbol *right, uint32_t *rank, int32_t *id);

// Clears the merger and reserves room for n symbols. false: out of memory.
bool merger_begin(struct merger *m, size_t n);
// Appends the symbol word[pos..pos+n); at most as many as were reserved.
void merger_add(struct merger *m, uint32_t pos, uint32_t n, int32_t id);
// Runs the loop. The result is symbols[0] and its `next` chain.
void merger_run(struct merger *m, const char *word, merge_rule rule, const void *rules);
void merger_free(struct merger *m);

#endif
