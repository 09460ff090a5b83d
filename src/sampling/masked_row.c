// sampling/masked_row.c - see masked_row.h: blocks of a row, masked in the L1 cache.
#include "sampling/masked_row.h"
#include "sampling/token_mask.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { BLOCK = 2048, BLOCK_WORDS = BLOCK / 64 };

static size_t block_size(size_t n, size_t at) { return n - at < BLOCK ? n - at : BLOCK; }

static bool counts(const uint64_t *mask, size_t i) { return !mask || token_mask_has(mask, (int32_t)i); }

// The block at x + at, masked; NULL: none of it counts.
static const float *block_at(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, size_t at,
                             float *buffer) {
    const size_t size = block_size(n, at), n_words = (size + 63) / 64;
    uint64_t any = 0;
    if (!mask) return x + at;
    for (size_t w = 0; w < n_words; w++) any |= mask[at / 64 + w];
    if (!any) return NULL;
    rm->mask(x + at, mask + at / 64, size, buffer);
    return buffer;
}

float masked_row_max(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, size_t *block) {
    float buffer[BLOCK], max = -INFINITY;
    *block = 0;
    for (size_t at = 0; at < n && !isnan(max); at += BLOCK) {
        const float *const b = block_at(rm, x, mask, n, at, buffer),
                           m = b ? rm->max(b, block_size(n, at)) : -INFINITY;
        if (!(m <= max)) max = m, *block = at;
    }
    return max;
}

size_t masked_row_first(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, float max,
                        size_t block) {
    float buffer[BLOCK];
    const float *const b = block_at(rm, x, mask, n, block, buffer);
    int32_t first = 0;
    if (b) rm->select_ge(b, block_size(n, block), max, &first, 1);
    return block + (size_t)first;
}

size_t masked_row_select_ge(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, float t,
                            int32_t *idx, size_t max) {
    float buffer[BLOCK];
    size_t count = 0;
    if (!mask) return rm->select_ge(x, n, t, idx, max);
    for (size_t at = 0; at < n; at += BLOCK) {
        const float *const b = block_at(rm, x, mask, n, at, buffer);
        if (!b) continue;
        const size_t room = count < max ? max - count : 0, from = count;
        count += rm->select_ge(b, block_size(n, at), t, room ? idx + count : idx, room);
        for (size_t i = from; i < count && i < max; i++) idx[i] += (int32_t)at;
    }
    return count;
}

// A bound that about 2k numbers, and a few more, reach if a sample is representative, as in row_top_k(). One number of each stride is
// looked at, at no regular distance: a mask may be regular, too. picks: [2 * SAMPLE].
static float guess_bound(const float *x, const uint64_t *mask, size_t n, size_t k, int32_t *picks) {
    enum { SAMPLE = 512 };
    const size_t stride = n / SAMPLE;
    size_t n_picks = 0;
    if (n < 4 * SAMPLE || k >= n / 8) return -FLT_MAX;
    const size_t rank = 2 * k / stride + 2;
    for (uint32_t i = 0; i < SAMPLE; i++) {
        const size_t at = i * stride + (i * UINT32_C(2654435761) >> 16) % stride;
        if (counts(mask, at)) picks[n_picks++] = (int32_t)at;
    }
    if (n_picks < rank) return -FLT_MAX;
    row_first_k(x, picks, n_picks, rank, picks + SAMPLE);
    const float bound = x[picks[SAMPLE + rank - 1]];
    return bound > -FLT_MAX ? bound : -FLT_MAX;
}

size_t masked_row_top_k(const struct rowmath *rm, const float *x, const uint64_t *mask, size_t n, size_t k,
                        int32_t *idx, int32_t *scratch) {
    const float bound = guess_bound(x, mask, n, k, scratch);
    size_t n_found = masked_row_select_ge(rm, x, mask, n, bound, scratch, n);
    if (n_found < k && bound > -FLT_MAX) n_found = masked_row_select_ge(rm, x, mask, n, -FLT_MAX, scratch, n);
    if (k > n_found) k = n_found;
    row_first_k(x, scratch, n_found, k, idx);
    return k;
}
