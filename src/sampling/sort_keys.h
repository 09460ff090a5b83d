// sampling/sort_keys.h - orders tokens by (logit descending, id ascending): each pair becomes one integer, sorted by radix.
// Threads: pure functions.
#ifndef RN_SAMPLING_SORT_KEYS_H
#define RN_SAMPLING_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The smaller key comes first. The upper half falls with the logit: the bits of a positive float rise with it and those of a
// negative one fall, so the sign decides which to turn over. Adding 0 makes -0 a 0.
static inline uint64_t sort_key(float logit, int32_t id) {
    const float l = logit + 0.0f;
    uint32_t bits;
    memcpy(&bits, &l, sizeof bits);
    const uint32_t falling = bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
    return (uint64_t)falling << 32 | (uint32_t)id;
}
static inline int32_t sort_key_id(uint64_t key) { return (int32_t)(uint32_t)key; }

// Sorts keys[0..n), which come with rising ids; spare: [n]. Returns the one of the two that holds the result.
uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, size_t n);

#endif
