// sampling/sort_keys.c - least-significant-digit radix sort of the upper halves; it is stable, so ids stay ascending.
#include "sampling/sort_keys.h"

enum { N_DIGITS = 4, FEW = 64 };

// Below FEW keys, clearing and summing the counters would take longer than the sort.
static void insertion_sort(uint64_t *keys, size_t n) {
    for (size_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        size_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
        keys[j] = key;
    }
}

static unsigned digit(uint64_t key, int d) { return (unsigned)(key >> (32 + 8 * d)) & 255; }

// Turns counts into the index of each digit's first key.
static void counts_to_places(uint32_t count[256]) {
    uint32_t place = 0;
    for (int v = 0; v < 256; v++) {
        const uint32_t n = count[v];
        count[v] = place;
        place += n;
    }
}

uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, size_t n) {
    if (n < FEW) {
        insertion_sort(keys, n);
        return keys;
    }
    uint32_t count[N_DIGITS][256] = {0};
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < N_DIGITS; d++) count[d][digit(keys[i], d)]++;
    for (int d = 0; d < N_DIGITS; d++) {
        if (count[d][digit(keys[0], d)] == n) continue; // all keys have the same digit
        counts_to_places(count[d]);
        for (size_t i = 0; i < n; i++) spare[count[d][digit(keys[i], d)]++] = keys[i];
        uint64_t *const sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}
