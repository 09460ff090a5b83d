// base/arena.h - many small objects with one lifetime: allocate, never free singly, drop all at once.
//
// Ownership: the arena owns what it hands out. Threads: one at a time.
#ifndef RN_BASE_ARENA_H
#define RN_BASE_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;
typedef struct arena {
    arena_block *blocks; // newest first; private
    size_t used, cap;    // of the newest; private
} arena;                 // all zero = empty and ready

void *arena_alloc(arena *a, size_t n_bytes);            // 16-byte aligned, zeroed; NULL: out of memory
char *arena_strndup(arena *a, const char *s, size_t n); // n bytes and a terminator
void arena_free(arena *a);                              // empty again

#endif
