// engine/vision/vector_store.c - see vector_store.h.
#include "engine/vision/vector_store.h"
#include "base/hash.h"
#include "base/mem.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

static size_t n_pixels(const struct pixels *p) {
    size_t n = 1;
    for (size_t d = 0; d < p->n_dims; d++) n *= p->shape[d];
    return n;
}

static uint64_t bytes_of(const struct pixels *p, const struct vision_rows *rows) {
    return sizeof(struct stored_vectors) + (n_pixels(p) + rows->n * rows->width) * sizeof(float);
}

static bool is_same(const struct pixels *a, const struct pixels *b) {
    return a->n_dims == b->n_dims && a->width == b->width && a->height == b->height && a->tile_rows == b->tile_rows &&
           a->tile_cols == b->tile_cols && memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape) == 0 &&
           memcmp(a->values, b->values, n_pixels(a) * sizeof *a->values) == 0;
}

uint64_t vector_store_key(const struct vector_store *s, const struct pixels *p) {
    const uint32_t sides[] = {p->width, p->height, p->tile_rows,
                              p->tile_cols}; // rows of the text model follow from them, too
    const uint64_t seed = hash_bytes(sides, sizeof sides, hash_bytes(p->shape, sizeof p->shape, s->seed));
    return hash_bytes(p->values, n_pixels(p) * sizeof *p->values, seed);
}

struct stored_vectors *vector_store_find(struct vector_store *s, uint64_t key, const struct pixels *p) {
    for (struct stored_vectors *e = s->first; e; e = e->next)
        if (e->v.key == key && is_same(&e->pixels, p)) {
            e->n_users++;
            e->used_at = ++s->clock;
            s->n_found++;
            return e;
        }
    return NULL;
}

// Takes the least recently used one without users out of the list. false: all have users.
static bool drop_one(struct vector_store *s) {
    struct stored_vectors **oldest = NULL;
    for (struct stored_vectors **at = &s->first; *at; at = &(*at)->next)
        if ((*at)->n_users == 0 && (!oldest || (*at)->used_at < (*oldest)->used_at)) oldest = at;
    if (!oldest) return false;
    struct stored_vectors *const e = *oldest;
    *oldest = e->next;
    s->bytes -= bytes_of(&e->pixels, &e->v.rows);
    mem_free(e->pixels.values);
    mem_free(e->v.rows.values);
    mem_free(e);
    return true;
}

rn_status vector_store_add(struct vector_store *s, uint64_t key, struct pixels *p, struct vision_rows *rows,
                           struct stored_vectors **out, rn_error *err) {
    const uint64_t n = bytes_of(p, rows);
    while (n <= s->most_bytes && s->bytes > s->most_bytes - n && drop_one(s)) continue;
    if (n > s->most_bytes || s->bytes > s->most_bytes - n)
        return fail(err, RN_E_LIMIT,
                    "picture: its vectors take %" PRIu64 " bytes, beside %" PRIu64
                    " of pictures in use; limit %" PRIu64 " (picture_cache_bytes)",
                    n, s->bytes, s->most_bytes);
    struct stored_vectors *const e = mem_calloc(1, sizeof *e);
    if (!e) return fail(err, RN_E_NOMEM, "picture: out of memory");
    *e = (struct stored_vectors){
        .v = {*rows, key}, .pixels = *p, .n_users = 1, .used_at = ++s->clock, .next = s->first};
    s->first = e;
    s->bytes += n;
    *p = (struct pixels){0};
    *rows = (struct vision_rows){0};
    *out = e;
    return RN_OK;
}

void vector_store_free(struct vector_store *s) {
    while (drop_one(s)) continue;
    assert(!s->first);
}
