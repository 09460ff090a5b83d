// kernels/attend_groups.h - groups of up to four queries and the slots of a block that they see;
// shared by the sets' attention kernels.
#ifndef RN_KERNELS_ATTEND_GROUPS_H
#define RN_KERNELS_ATTEND_GROUPS_H

#include "kernels/kv_layout.h"
#include "kernels/unrolled.h"
#include <stdbool.h>

enum { GROUP = 4 }; // queries processed together: each key and value is loaded once for all of them

static inline size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// Queries [first, first + n) as an attend_block of their own.
static inline struct attend_block queries_from(const struct attend_block *a, size_t first, size_t n) {
    struct attend_block b = *a;
    b.q = (const uint8_t *)a->q + first * a->q_stride;
    b.n_q = n;
    b.lo += first, b.hi += first, b.m += first, b.l += first;
    b.o += first * a->v_dim;
    if (a->slope) b.slope += first, b.offset += first;
    if (a->bias) b.bias += first * KV_BLOCK;
    // The first group prefetches the next block.
    if (first) b.next_keys = a->keys, b.next_values = a->values;
    return b;
}

// Does the score have a softcap, a slope or a bias?
static inline bool scores_are_bent(const struct attend_block *a) { return a->softcap != 0 || a->slope || a->bias; }

// As queries_from(), written to *room, but returns `a` itself for all of its queries: a block is
// large, and copying it right after its fields were written stalls on these stores.
static inline const struct attend_block *some_queries(const struct attend_block *a, size_t first, size_t n,
                                                      struct attend_block *room) {
    if (n == a->n_q) return a;
    *room = queries_from(a, first, n);
    return room;
}

struct slots {
    size_t begin, end;
};
// The slots that any of the queries sees, rounded outwards to multiples of 32.
static inline struct slots seen_by_any(const struct attend_block *a) {
    unsigned begin = KV_BLOCK, end = 0;
    for (size_t r = 0; r < a->n_q; r++) {
        if (a->lo[r] < begin) begin = a->lo[r];
        if (a->hi[r] > end) end = a->hi[r];
    }
    return (struct slots){begin & ~31u, (end + 31) & ~31u};
}
// The slots that all queries see, rounded inwards to multiples of `grain`; {64, 64} if there are
// none, so that all slots lie before it.
static inline struct slots seen_by_all(const struct attend_block *a, unsigned grain) {
    unsigned begin = 0, end = KV_BLOCK;
    for (size_t r = 0; r < a->n_q; r++) {
        if (a->lo[r] > begin) begin = a->lo[r];
        if (a->hi[r] < end) end = a->hi[r];
    }
    begin = (begin + grain - 1) & ~(grain - 1), end &= ~(grain - 1);
    return begin < end ? (struct slots){begin, end} : (struct slots){KV_BLOCK, KV_BLOCK};
}

// Adds up the values of slots that all queries of a group see.
typedef void (*sum_fn)(const struct attend_block *a, struct slots s, const float (*p)[KV_BLOCK], const float *corr);
// Adds up the values for one group of queries in the order of slots: slots that all queries see for
// the group, the others for each query. sums[r - 1] handles r queries. corr is overwritten.
static inline void sum_group(const sum_fn *sums, const struct attend_block *a, float (*p)[KV_BLOCK], float *corr) {
    const struct slots all = seen_by_all(a, 1);
    for (size_t r = 0; r < a->n_q; r++) {
        const struct slots before = {a->lo[r], smaller(a->hi[r], all.begin)};
        if (before.begin >= before.end) continue;
        const struct attend_block one = queries_from(a, r, 1);
        sums[0](&one, before, (const float(*)[KV_BLOCK])(p + r), corr + r);
        corr[r] = 1;
    }
    if (all.begin < all.end) sums[a->n_q - 1](a, all, (const float(*)[KV_BLOCK])p, corr);
    for (size_t r = 0; r < a->n_q; r++) {
        const struct slots after = {all.end, a->hi[r]};
        if (after.begin >= after.end) continue;
        const struct attend_block one = queries_from(a, r, 1);
        const float kept = 1;
        sums[0](&one, after, (const float(*)[KV_BLOCK])(p + r), &kept);
    }
}

// Instances of the file's score() and sum_channels() for each group size, so that their sums stay
// in registers. GROUPS: these instances by size.
#define DEFINE_SCORE(name, form, R)                                                                                  \
    static void score_##name##_##R(const struct attend_block *a, struct slots s, float(*p)[KV_BLOCK]) {              \
        score(form, R, a, s, p);                                                                                     \
    }
#define DEFINE_SUM(name, form, R)                                                                                    \
    static void sum_##name##_##R(const struct attend_block *a, struct slots s, const float(*p)[KV_BLOCK],            \
                                 const float *corr) {                                                                \
        sum_channels(form, R, a, s, p, corr);                                                                        \
    }
#define DEFINE_SCORE_AND_SUM(name, form, R) DEFINE_SCORE(name, form, R) DEFINE_SUM(name, form, R)
#define FOR_GROUPS(define, name, form)                                                                               \
    define(name, form, 1) define(name, form, 2) define(name, form, 3) define(name, form, 4)
#define GROUPS(what, name) {what##_##name##_1, what##_##name##_2, what##_##name##_3, what##_##name##_4}

// Two forms of prefetching; which is faster depends on the codec (measured: docs/kernels.md).
// Always inline: GCC 12 takes a function that only prefetches for one without effect and drops the
// call.
//
// Prefetches bytes [at, at + n) of the next block into the L2 cache, n a power of two. Callers that
// read less than a line at a time prefetch each line once. Prefetches are evenly spaced and in the
// order of addresses, which is twice as fast as any other order.
static inline __attribute__((always_inline)) void fetch(const void *next, size_t at, size_t n) {
    if (n < 64 && at % 64 != 0) return;
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch((const char *)next + at + i, 0, 2);
}
// Prefetches the line 2 KiB ahead of byte `at` into the L1 cache, going on into `following` at the
// end of the part.
static inline __attribute__((always_inline)) void fetch_soon(const void *part, size_t part_bytes, size_t at,
                                                             const void *following) {
    const size_t to = at + 2048;
    __builtin_prefetch(to < part_bytes ? (const char *)part + to : (const char *)following + (to - part_bytes), 0, 3);
}

#endif
