// engine/vision/vector_store.h - vectors of pictures by the pixels that they were made of, within a bound of bytes.
//
// Ownership: the store's; what is in use outlives its eviction. Threads: one at a time.
#ifndef RN_ENGINE_VISION_VECTOR_STORE_H
#define RN_ENGINE_VISION_VECTOR_STORE_H

#include "engine/vision/vision.h"

struct stored_vectors {
    struct vision_vectors v; // first: users hold a pointer to it
    struct pixels pixels;
    uint64_t n_users, used_at;
    struct stored_vectors *next;
};

struct vector_store {
    struct stored_vectors *first;
    uint64_t bytes, most_bytes, clock, n_found;
    uint64_t seed; // of keys
};

uint64_t vector_store_key(const struct vector_store *s, const struct pixels *p);
// Those of equal pixels, with one more user; NULL: none.
struct stored_vectors *vector_store_find(struct vector_store *s, uint64_t key, const struct pixels *p);
// Takes over what both hold, with one user. RN_E_LIMIT: there is no room; RN_E_NOMEM. Both are left alone then.
rn_status vector_store_add(struct vector_store *s, uint64_t key, struct pixels *p, struct vision_rows *rows,
                           struct stored_vectors **out, rn_error *err);
void vector_store_free(struct vector_store *s); // nothing is in use

#endif
