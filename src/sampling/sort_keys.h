// sampling/sort_keys.h - sorts tokens by (logit descending, id ascending): each pair becomes one
// integer for a radix sort.
// Threads: pure functions.
#ifndef RN_SAMPLING_SORT_KEYS_H
#define RN_SAMPLING_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Smaller keys come first. The upper half must decrease as the logit increases: the bits of
// positive floats increase with the value and are inverted, those of negative floats already
// decrease. Adding 0 turns -0 into 0.
static inline uint64_t sort_key(float logit, int32_t id) {
    const float l = logit + 0.0f;
    uint32_t bits;
    memcpy(&bits, &l, sizeof bits);
    const uint32_t falling = bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
    return (uint64_t)falling << 32 | (uint32_t)id;
}
static inline int32_t sort_key_id(uint64_t key) { return (int32_t)(uint32_t)key; }

// Sorts keys[0..n), whose ids must be ascending. spare: [n]. Returns whichever of the two arrays
// holds the result.
uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, size_t n);

#endif
