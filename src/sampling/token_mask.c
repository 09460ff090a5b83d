// sampling/token_mask.c - looks at the words of a mask.
#include "sampling/token_mask.h"

// Of the last word, the bits that belong to tokens.
static uint64_t word_at(const uint64_t *mask, size_t i, int32_t n_vocab) {
    const size_t n_left = (size_t)n_vocab - 64 * i;
    return n_left >= 64 ? mask[i] : mask[i] & ((UINT64_C(1) << n_left) - 1);
}

bool token_mask_is_empty(const uint64_t *mask, int32_t n_vocab) {
    const size_t n = token_mask_words(n_vocab);
    for (size_t i = 0; i < n; i++)
        if (word_at(mask, i, n_vocab)) return false;
    return true;
}
