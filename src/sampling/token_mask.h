// sampling/token_mask.h - sets of tokens that may be drawn: one bit for each token of a vocabulary,
// token t at bit t % 64 of word t / 64. Bits at and beyond n_vocab mean nothing.
//
// Ownership: the caller's memory, token_mask_words(n_vocab) words. Threads: pure functions of what
// they are given.
#ifndef RN_SAMPLING_TOKEN_MASK_H
#define RN_SAMPLING_TOKEN_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t token_mask_words(int32_t n_vocab) { return ((size_t)n_vocab + 63) / 64; }
static inline bool token_mask_has(const uint64_t *mask, int32_t token) { return mask[token / 64] >> token % 64 & 1; }
static inline void token_mask_add(uint64_t *mask, int32_t token) { mask[token / 64] |= UINT64_C(1) << token % 64; }
// Does it allow no token of the vocabulary?
bool token_mask_is_empty(const uint64_t *mask, int32_t n_vocab);

#endif
