// kernels/attend_groups.h - queries in groups of four, and which slots of a block they see; shared by the sets' attention kernels.
#ifndef RN_KERNELS_ATTEND_GROUPS_H
#define RN_KERNELS_ATTEND_GROUPS_H

#include "kernels/kv_layout.h"
#include "kernels/unrolled.h"
#include <stdbool.h>

enum { GROUP = 4 }; // queries that are done together: a key or value is loaded once for all of them

static inline size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// n queries of the block from the first on, as a block of their own.
static inline struct attend_block queries_from(const struct attend_block *a, size_t first, size_t n) {
    struct attend_block b = *a;
    b.q = (const uint8_t *)a->q + first * a->q_stride;
    b.n_q = n;
    b.lo += first, b.hi += first, b.m += first, b.l += first;
    b.o += first * a->v_dim;
    if (a->slope) b.slope += first, b.offset += first;
    if (first) b.next_keys = a->keys, b.next_values = a->values; // fetched ahead once
    return b;
}

// Is there more to a score than scale * (q . k)?
static inline bool scores_are_bent(const struct attend_block *a) { return a->softcap != 0 || a->slope; }

// The same; the block itself where these are all of its queries. `room` is for one of its own: a block is large, and to copy one whose
// fields have just been written waits for these writes.
static inline const struct attend_block *some_queries(const struct attend_block *a, size_t first, size_t n,
                                                      struct attend_block *room) {
    if (n == a->n_q) return a;
    *room = queries_from(a, first, n);
    return room;
}

struct slots {
    size_t begin, end;
};
// What any query sees, in whole steps of 32 keys.
static inline struct slots seen_by_any(const struct attend_block *a) {
    unsigned begin = KV_BLOCK, end = 0;
    for (size_t r = 0; r < a->n_q; r++) {
        if (a->lo[r] < begin) begin = a->lo[r];
        if (a->hi[r] > end) end = a->hi[r];
    }
    return (struct slots){begin & ~31u, (end + 31) & ~31u};
}
// What all queries see, from and to a multiple of `grain`; nothing: {64, 64}, so that all slots come before it.
static inline struct slots seen_by_all(const struct attend_block *a, unsigned grain) {
    unsigned begin = 0, end = KV_BLOCK;
    for (size_t r = 0; r < a->n_q; r++) {
        if (a->lo[r] > begin) begin = a->lo[r];
        if (a->hi[r] < end) end = a->hi[r];
    }
    begin = (begin + grain - 1) & ~(grain - 1), end &= ~(grain - 1);
    return begin < end ? (struct slots){begin, end} : (struct slots){KV_BLOCK, KV_BLOCK};
}

// Sums the values of some slots that all queries of the group see.
typedef void (*sum_fn)(const struct attend_block *a, struct slots s, const float (*p)[KV_BLOCK], const float *corr);
// Values of one group of queries, in the order of slots: those that all see are done together, the others for each query alone.
// sums[r - 1] is for r queries. corr is used up.
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

// Functions for each size of group, whose sums then stay in registers, out of the file's score() and sum_channels(). GROUPS: what has been
// defined, by size.
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

// Two ways to have lines there before they are used, each measured the better for some codecs (docs/kernels.md). Always inline: GCC 12
// takes a function that only fetches for one without effect and drops the call.
//
// Of the block that comes next, into the second-level cache: bytes [at, at + n), n a power of two. Whoever takes fewer bytes of a line at
// a time than it has asks for each line once; all ask in the order of addresses, evenly: that makes twice the rate of any other order.
static inline __attribute__((always_inline)) void fetch(const void *next, size_t at, size_t n) {
    if (n < 64 && at % 64 != 0) return;
    for (size_t i = 0; i < n; i += 64) __builtin_prefetch((const char *)next + at + i, 0, 2);
}
// The line a little ahead of byte `at` in the stream of keys, values, the next block's keys; into the first-level cache.
static inline __attribute__((always_inline)) void fetch_soon(const void *part, size_t part_bytes, size_t at,
                                                             const void *following) {
    const size_t to = at + 2048;
    __builtin_prefetch(to < part_bytes ? (const char *)part + to : (const char *)following + (to - part_bytes), 0, 3);
}

#endif
