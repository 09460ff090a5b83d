// decoding/draft/feature_ring.c - see feature_ring.h.
#include "decoding/draft/feature_ring.h"
#include "base/mem.h"

bool feature_ring_init(struct feature_ring *r, int32_t width) {
    *r = (struct feature_ring){.width = width, .data = mem_alloc(FEATURES_MOST * (size_t)width * sizeof *r->data)};
    return r->data != NULL;
}

void feature_ring_free(struct feature_ring *r) { mem_free(r->data); }

float *feature_ring_put(struct feature_ring *r, int32_t at) {
    if (at < r->from) return NULL;
    if (at > r->to) r->has_gap = true, r->from = r->oldest = at;
    if (at - r->from == FEATURES_MOST) r->has_gap = true, r->from++;
    if (at - r->oldest == FEATURES_MOST) r->oldest++;
    if (at < r->oldest) r->oldest = at;
    r->to = at + 1;
    return feature_ring_at(r, at);
}

int32_t feature_ring_cut(struct feature_ring *r, int32_t n_read, int32_t n) {
    const int32_t n_back = r->from > n_read ? r->from - n_read : 0;
    r->from -= n_back;
    if (r->to > n) r->to = n;
    // What is to be read again was forgotten.
    if (r->from < r->oldest && r->from < r->to) r->has_gap = true, r->from = r->to;
    return n_back;
}
