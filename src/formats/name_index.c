// formats/name_index.c - see name_index.h.
#include "formats/name_index.h"
#include "base/hash.h"
#include <string.h>

struct name_slot {
    const char *name; // NULL: the slot is free
    uint32_t n_bytes;
    uint32_t i;
    uint64_t hash;
};

bool name_index_init(struct name_index *x, size_t n, struct arena *into) {
    *x = (struct name_index){0};
    size_t n_slots = 4;
    while (n_slots < 2 * n) n_slots *= 2;
    x->slots = arena_alloc(into, n_slots * sizeof *x->slots);
    if (!x->slots) return false;
    x->n_slots = n_slots;
    return true;
}

static uint64_t hash_of(const struct name_index *x, const char *name, size_t n_bytes) {
    return hash_bytes(name, n_bytes, (uintptr_t)x->slots);
}

// Returns the slot that holds the name, or the free slot where it would be inserted.
static struct name_slot *slot_of(const struct name_index *x, const char *name, size_t n_bytes, uint64_t hash) {
    const size_t mask = x->n_slots - 1;
    for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
        struct name_slot *s = &x->slots[at];
        if (!s->name) return s;
        if (s->hash == hash && s->n_bytes == n_bytes && memcmp(s->name, name, n_bytes) == 0) return s;
    }
}

uint32_t name_index_add(struct name_index *x, const char *name, uint32_t n_bytes, uint32_t i) {
    const uint64_t hash = hash_of(x, name, n_bytes);
    struct name_slot *s = slot_of(x, name, n_bytes, hash);
    if (!s->name) *s = (struct name_slot){name, n_bytes, i, hash};
    return s->i;
}

int64_t name_index_find(const struct name_index *x, const char *name, size_t n_bytes) {
    if (x->n_slots == 0) return -1;
    const struct name_slot *s = slot_of(x, name, n_bytes, hash_of(x, name, n_bytes));
    return s->name ? (int64_t)s->i : -1;
}
