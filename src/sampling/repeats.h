// sampling/repeats.h - what would repeat an earlier passage: DRY, and n-grams that may not recur.
//
// Both ask how long a suffix of the tokens seen recurs before each of them. The Z-algorithm
// (Gusfield 1997, section 1.4) on the tokens in reverse tells, in linear time. Nothing is kept from
// draw to draw, so there is nothing that a rewind would have to restore.
// Ownership: works in the caller's memory. Threads: pure functions of what they are given.
#ifndef RN_SAMPLING_REPEATS_H
#define RN_SAMPLING_REPEATS_H

#include "sampling/sampler.h"

// lengths[i], 1 <= i < n: how many tokens before tokens[n - i], ending with tokens[n - i - 1],
// equal as many at the end of tokens [n]. lengths[0] = n.
void repeat_lengths(const int32_t *tokens, size_t n, int32_t *lengths);

struct dry {
    float multiplier, base;
    int32_t allowed_length;
    const struct dry_breaker *breakers; // [n_breakers] sorted by token
    size_t n_breakers;
};
// DRY (docs/sampling.md) over tokens [n], the window: l -= multiplier * base ^ (length - allowed
// length) for tokens that would continue a repeat of at least the allowed length. lengths: [n]
// scratch; most: [n_vocab] scratch.
void stage_dry(float *row, const struct dry *dry, const int32_t *tokens, size_t n, int32_t *lengths, int32_t *most);

// -inf for every token that would make the last size - 1 tokens an n-gram that tokens [n] have
// already. lengths: [n] scratch.
void stage_no_repeat_ngram(float *row, int32_t size, const int32_t *tokens, size_t n, int32_t *lengths);

#endif
