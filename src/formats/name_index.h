// formats/name_index.h - a hash table from names to their index in a list: metadata keys, tensor names.
//
// Open addressing with a load factor of at most 1/2. The hash is seeded with the table's address, so that the author of a file cannot
// choose names that collide; results do not depend on the seed.
// Ownership: names are the caller's and outlive the index; the table lies in the arena `into`. Threads: immutable once filled.
#ifndef RN_FORMATS_NAME_INDEX_H
#define RN_FORMATS_NAME_INDEX_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_slot;
struct name_index {
    struct name_slot *slots;
    size_t n_slots; // a power of two; 0: an index of no names
};

// Makes room for n names. False: out of memory.
bool name_index_init(struct name_index *x, size_t n, struct arena *into);
// Adds a name with index i, unless it is present already. Returns the name's index.
uint32_t name_index_add(struct name_index *x, const char *name, uint32_t n_bytes, uint32_t i);
// The name's index; -1: not present.
int64_t name_index_find(const struct name_index *x, const char *name, size_t n_bytes);

#endif
