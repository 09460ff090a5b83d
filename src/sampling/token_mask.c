// sampling/token_mask.c - a mask's words: most are all ones or all zeros.
#include "sampling/token_mask.h"
#include <math.h>
#include <string.h>

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

// For four bits of a mask: which bits of four floats stay.
#define KEEP_IF(bit) ((bit) ? UINT32_MAX : 0)
#define KEEP(n)      {KEEP_IF((n) & 1), KEEP_IF((n) & 2), KEEP_IF((n) & 4), KEEP_IF((n) & 8)}
static const uint32_t keep[16][4] = {KEEP(0), KEEP(1), KEEP(2),  KEEP(3),  KEEP(4),  KEEP(5),  KEEP(6),  KEEP(7),
                                     KEEP(8), KEEP(9), KEEP(10), KEEP(11), KEEP(12), KEEP(13), KEEP(14), KEEP(15)};

// A mask in which allowed and forbidden tokens alternate costs no branches: four floats at a time, which compilers make one vector.
static void mask_four(float *x, unsigned bits) {
    static const uint32_t minus_infinity = 0xff800000u;
    uint32_t words[4];
    memcpy(words, x, sizeof words);
    for (int i = 0; i < 4; i++) words[i] = (words[i] & keep[bits][i]) | (minus_infinity & ~keep[bits][i]);
    memcpy(x, words, sizeof words);
}

void token_mask_apply(const uint64_t *mask, float *row, int32_t n_vocab) {
    const size_t n = (size_t)n_vocab;
    size_t first = 0;
    for (; first + 64 <= n; first += 64) {
        const uint64_t word = mask[first / 64];
        if (word == UINT64_MAX) continue;
        for (unsigned i = 0; i < 64; i += 4) mask_four(row + first + i, word >> i & 15);
    }
    for (; first < n; first++)
        if (!token_mask_has(mask, (int32_t)first)) row[first] = -INFINITY;
}
