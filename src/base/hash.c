// base/hash.c - 64-bit hashes of bytes, the same on machines of either byte order.
#include "base/hash.h"

// Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators": the increment of SplitMix64 and its
// output function (the variant with the constants of Stafford's "Mix13"), a bijection of the 64-bit words.
static const uint64_t GOLDEN = 0x9e3779b97f4a7c15u;
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t load_le(const uint8_t *p, size_t n) {
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

uint64_t hash_u64(uint64_t x, uint64_t seed) { return mix(x ^ mix(seed + GOLDEN)); }

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed) {
    const uint8_t *p = data;
    uint64_t h = hash_u64(n, seed); // the length, so that trailing zero bytes count
    for (; n >= 8; p += 8, n -= 8) h = mix(h ^ load_le(p, 8)) + GOLDEN;
    return mix(h ^ load_le(p, n));
}
