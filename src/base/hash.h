// base/hash.h - 64-bit hashes of bytes for tables and chains. Not for secrets: callers compare the keys on a hit.
#ifndef RN_BASE_HASH_H
#define RN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);
uint64_t hash_u64(uint64_t x, uint64_t seed); // mixes one word (splitmix64 finalizer)

#endif
