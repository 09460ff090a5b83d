// jinja/template_dict.c - dictionaries in insertion order; see template_types.h.
//
// A few keys are searched linearly. Larger dictionaries have a hash table. Its hash is seeded with
// the table's address, so that an attacker cannot choose keys that collide.
#include "base/checked.h"
#include "base/hash.h"
#include "jinja/template_types.h"

enum { FEW = 8 };

static size_t n_slots_for(size_t n) {
    size_t slots = 4 * FEW;
    while (slots < 2 * n) slots *= 2;
    return slots;
}

struct tv_dict *tv_dict_new(struct arena *a, size_t n) {
    struct tv_dict *const d = arena_alloc(a, sizeof *d);
    size_t n_bytes;
    if (!d || n > UINT32_MAX / 8 || !size_mul(n, sizeof *d->entries, &n_bytes)) return NULL;
    d->entries = arena_alloc(a, n_bytes);
    d->cap = (uint32_t)n;
    if (n > FEW) {
        const size_t slots = n_slots_for(n);
        d->slots = arena_alloc(a, slots * sizeof *d->slots);
        d->mask = (uint32_t)(slots - 1);
        d->seed = (uintptr_t)d->slots;
        if (!d->slots) return NULL;
    }
    return d->entries ? d : NULL;
}

bool tv_may_be_key(const tval *v) {
    if (v->kind == TV_TUPLE) {
        for (size_t i = 0; i < v->seq.n; i++)
            if (v->seq.items[i]->kind == TV_TUPLE || !tv_may_be_key(v->seq.items[i])) return false;
        return true;
    }
    return v->kind != TV_LIST && v->kind != TV_DICT && v->kind != TV_VIEW;
}

// 1, 1.0 and true are the same key.
static bool same_number(const tval *a, const tval *b) {
    if (tv_is_whole(a) && tv_is_whole(b)) return tv_whole(a) == tv_whole(b);
    const double x = a->kind == TV_FLOAT ? a->d : (double)tv_whole(a);
    const double y = b->kind == TV_FLOAT ? b->d : (double)tv_whole(b);
    return x == y;
}

static bool same_key(const tval *a, const tval *b) {
    if (a->kind == TV_STRING && b->kind == TV_STRING)
        return a->str.n == b->str.n && memcmp(a->str.s, b->str.s, a->str.n) == 0;
    if (tv_is_number(a) && tv_is_number(b)) return same_number(a, b);
    if (a->kind != b->kind) return false;
    if (a->kind == TV_TUPLE) {
        if (a->seq.n != b->seq.n) return false;
        for (size_t i = 0; i < a->seq.n; i++) // items cannot be tuples: tv_may_be_key()
            if (!same_key(a->seq.items[i], b->seq.items[i])) return false;
        return true;
    }
    return a->kind == TV_NONE || a->kind == TV_UNDEFINED || a == b;
}

static uint64_t hash_key(const tval *k, uint64_t seed) {
    if (k->kind == TV_STRING) return hash_bytes(k->str.s, k->str.n, seed);
    if (tv_is_number(k)) {
        const double d = k->kind == TV_FLOAT ? k->d : (double)tv_whole(k);
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        return hash_u64(d == 0 ? 0 : bits, seed);
    }
    uint64_t h = hash_u64(k->kind, seed);
    if (k->kind == TV_TUPLE)
        for (size_t i = 0; i < k->seq.n; i++) h = hash_key(k->seq.items[i], h);
    return h;
}

// The slot that refers to the key's entry, or the free slot for it.
static uint32_t *slot_of(const struct tv_dict *d, const tval *key) {
    for (uint32_t at = (uint32_t)hash_key(key, d->seed) & d->mask;; at = (at + 1) & d->mask) {
        uint32_t *const slot = &d->slots[at];
        if (*slot == 0 || same_key(&d->entries[*slot - 1].key, key)) return slot;
    }
}

const struct tv_entry *tv_dict_find(const struct tv_dict *d, const tval *key) {
    if (d->slots) {
        const uint32_t *const slot = slot_of(d, key);
        return *slot ? &d->entries[*slot - 1] : NULL;
    }
    for (uint32_t i = 0; i < d->n; i++)
        if (same_key(&d->entries[i].key, key)) return &d->entries[i];
    return NULL;
}

const tval *tv_dict_get(const struct tv_dict *d, const char *key, size_t n) {
    const tval k = {.kind = TV_STRING, .str = {.s = key, .n = n}};
    const struct tv_entry *const e = tv_dict_find(d, &k);
    return e ? e->value : NULL;
}

bool tv_dict_put(struct tv_dict *d, const tval *key, const tval *value) {
    uint32_t *const slot = d->slots ? slot_of(d, key) : NULL;
    const struct tv_entry *const found = slot ? (*slot ? &d->entries[*slot - 1] : NULL) : tv_dict_find(d, key);
    if (found) {
        d->entries[found - d->entries].value = value;
        return true;
    }
    if (d->n == d->cap) return false;
    d->entries[d->n++] = (struct tv_entry){.key = *key, .value = value};
    if (slot) *slot = d->n;
    return true;
}
