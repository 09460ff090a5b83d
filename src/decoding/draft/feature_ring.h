// decoding/draft/feature_ring.h - what the main model has said of the last tokens of a text: a vector of each, until a draft head has read it.
//
// Or what one layer of a head has said, which the next one reads.
#ifndef RN_DECODING_DRAFT_FEATURE_RING_H
#define RN_DECODING_DRAFT_FEATURE_RING_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEATURES_MOST = 128 };

struct feature_ring {
    float *data; // [FEATURES_MOST][width]
    int32_t width;
    int32_t from, to; // positions of the text that it has
    int32_t oldest;   // vectors before `from` are there from this position on
    bool has_gap;     // what was read before is not followed by `from`
};
bool feature_ring_init(struct feature_ring *r, int32_t width); // false: no memory
void feature_ring_free(struct feature_ring *r);
/**
 * The place for the vector at a position. Positions behind it are forgotten, and so is the oldest one if there is no room; where some between
 * were left out, all are.
 *
 * @return [width]; NULL: it was read already.
 */
float *feature_ring_put(struct feature_ring *r, int32_t at);
static inline float *feature_ring_at(const struct feature_ring *r, int32_t at) {
    return r->data + (size_t)(at % FEATURES_MOST) * (size_t)r->width;
}
static inline int32_t feature_ring_n(const struct feature_ring *r) { return r->to - r->from; }
// The first n are not to be read.
static inline void feature_ring_skip(struct feature_ring *r, int32_t n) {
    if (n > 0) r->has_gap = true, r->from += n;
}
// Only those before position n stay, and those from n_read <= n on are to be read again. Returns how many of those that were read are to be taken back.
int32_t feature_ring_cut(struct feature_ring *r, int32_t n_read, int32_t n);

#endif
