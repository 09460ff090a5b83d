// formats/name_index.h - finds a name's number in a list that is given once: metadata keys, tensor names.
//
// Open addressing, half full at most. Names are compared whole, hashes only spare most comparisons. The seed is the table's
// address, so that nobody who writes a file knows which names collide; no answer depends on it.
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

// Room for n names. false: out of memory.
bool name_index_init(struct name_index *x, size_t n, struct arena *into);
// Adds a name as number i, unless it is there: then the number it has. Returns the name's number.
uint32_t name_index_add(struct name_index *x, const char *name, uint32_t n_bytes, uint32_t i);
// -1: not there.
int64_t name_index_find(const struct name_index *x, const char *name, size_t n_bytes);

#endif
