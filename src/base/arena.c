// base/arena.c - many small objects with one lifetime.
#include "base/arena.h"
#include "base/checked.h"
#include "base/mem.h"
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    arena_block *next;
    _Alignas(ALIGN) unsigned char data[];
};

static arena_block *block_new(size_t n_bytes) {
    size_t n;
    return size_add(n_bytes, sizeof(arena_block), &n) ? mem_calloc(1, n) : NULL;
}

void *arena_alloc(arena *a, size_t n_bytes) {
    size_t n;
    if (!size_round_up(n_bytes ? n_bytes : 1, ALIGN, &n)) return NULL;
    if (n <= a->cap - a->used) {
        a->used += n;
        return a->blocks->data + a->used - n;
    }
    size_t cap = a->cap ? a->cap * 2 : FIRST_BLOCK;
    if (cap > LARGEST_BLOCK) cap = LARGEST_BLOCK;
    const bool alone = a->blocks && n > cap / 4; // give it its own block after the newest, whose rest stays in use
    if (alone || cap < n) cap = n;
    arena_block *b = block_new(cap);
    if (!b) return NULL;
    if (alone) {
        b->next = a->blocks->next;
        a->blocks->next = b;
        return b->data;
    }
    b->next = a->blocks;
    *a = (arena){.blocks = b, .used = n, .cap = cap};
    return b->data;
}

char *arena_strndup(arena *a, const char *s, size_t n) {
    size_t n_bytes;
    char *copy = size_add(n, 1, &n_bytes) ? arena_alloc(a, n_bytes) : NULL;
    if (copy && n) memcpy(copy, s, n); // the terminator is there: arena memory is zeroed
    return copy;
}

void arena_free(arena *a) {
    for (arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    *a = (arena){0};
}
