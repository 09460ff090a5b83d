// tests/kv/shadow.h - a model of kv/ for tests: pages with contents, state slots, and a list of keys for each sequence.
//
// What a slot must hold is a hash of all keys up to its position, so that two slots agree only where equal bits are
// promised; a state is computed from the one that its row reads. shadow_verify() compares everything that a next row could read with
// that, recounts the bookkeeping, and fills free pages and slots with garbage.
#ifndef RN_TESTS_KV_SHADOW_H
#define RN_TESTS_KV_SHADOW_H

#include "base/hash.h"
#include "kv/kv.h"
#include "tests/check.h"
#include <stdlib.h>
#include <string.h>

enum { SHADOW_SEQS = 8, SHADOW_CTX = 400, SHADOW_NODES = 200, SHADOW_PAGES = 64 };

struct shadow_seq {
    bool used;
    int32_t len, n_nodes;
    uint64_t
        start; // the value before the first position: 0; of a private sequence its own, so that it shows elsewhere
    uint64_t keys[SHADOW_CTX];
    uint64_t node_keys[SHADOW_NODES];
    int32_t parents[SHADOW_NODES];
};

struct shadow {
    kv *k;
    struct kv_config config;
    uint64_t slots[KV_MAX_GROUPS][SHADOW_PAGES][KV_PAGE];
    uint64_t states[SHADOW_PAGES];
    struct shadow_seq seqs[SHADOW_SEQS];
    int n_copies; // calls of the copy function
    int fails_at; // the call of that number fails; 0: none
};

static inline rn_status shadow_copy(void *user, const struct kv_copy *c, rn_error *err) {
    struct shadow *w = user;
    if (++w->n_copies == w->fails_at) return fail(err, RN_E_IO, "copy: the device is gone");
    CHECK(c->n > 0 && c->slot_src + c->n <= KV_PAGE && c->slot_dst + c->n <= KV_PAGE);
    CHECK(c->src != c->dst ||
          abs(c->slot_src - c->slot_dst) >= c->n); // a backend may copy without looking for overlaps
    memcpy(w->slots[c->group][c->dst] + c->slot_dst, w->slots[c->group][c->src] + c->slot_src,
           (size_t)c->n * sizeof(uint64_t));
    return RN_OK;
}

// n_pages of each group; window 0: one group, else a second one with that window.
static inline struct shadow *shadow_new_states(int32_t n_pages, int32_t window, int32_t n_states, int32_t interval) {
    struct shadow *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->config = (struct kv_config){
        .n_groups = window ? 2 : 1,
        .n_pages = {n_pages, n_pages},
        .window = {0, window},
        .max_seqs = SHADOW_SEQS,
        .n_ctx = SHADOW_CTX,
        .max_scratch = SHADOW_NODES,
        .n_states = n_states,
        .state_interval = interval,
        .identity = 1,
    };
    rn_error err = {0};
    CHECK_OK(kv_create(&w->config, shadow_copy, w, &w->k, &err), &err);
    return w;
}

static inline struct shadow *shadow_new(int32_t n_pages, int32_t window) {
    return shadow_new_states(n_pages, window, 0, 0);
}

static inline void shadow_free(struct shadow *w) {
    kv_destroy(w->k);
    free(w);
}

static inline uint64_t *shadow_slot(struct shadow *w, int32_t group, struct kv_slot at) {
    return &w->slots[group][at.page][at.slot];
}

static inline uint64_t shadow_value(uint64_t before, uint64_t key) { return hash_u64(key, before); }

static inline uint64_t shadow_value_from(uint64_t value, const uint64_t *keys, int32_t n) {
    for (int32_t i = 0; i < n; i++) value = shadow_value(value, keys[i]);
    return value;
}
static inline uint64_t shadow_value_of(const uint64_t *keys, int32_t n) { return shadow_value_from(0, keys, n); }

// A row's recurrence: reads one slot, writes the other.
static inline void shadow_recur(struct shadow *w, int32_t from, int32_t to, uint64_t key) {
    CHECK(to >= 0 && to < w->config.n_states);
    w->states[to] = shadow_value(from == KV_NONE ? 0 : w->states[from], key);
}

static inline uint64_t shadow_node_value(const struct shadow_seq *q, int32_t node, uint64_t root) {
    const uint64_t before = q->parents[node] < 0 ? root : shadow_node_value(q, q->parents[node], root);
    return shadow_value(before, q->node_keys[node]);
}

// Stores what an evaluated row would: positions from..len of s.
static inline void shadow_store(struct shadow *w, kv_seq s, int32_t from) {
    const struct shadow_seq *q = &w->seqs[s];
    uint64_t value = q->start;
    for (int32_t p = 0; p < q->len; p++) {
        value = shadow_value(value, q->keys[p]);
        for (int32_t g = 0; p >= from && g < w->config.n_groups; g++)
            *shadow_slot(w, g, kv_seq_slot(w->k, s, g, p)) = value + (uint64_t)g;
        if (p >= from && w->config.n_states > 0)
            shadow_recur(w, kv_seq_state(w->k, s, p), kv_seq_state(w->k, s, p + 1), q->keys[p]);
    }
}

static inline uint64_t shadow_root(const struct shadow_seq *q) {
    return shadow_value_from(q->start, q->keys, q->len);
}

// A sequence's state and those of its scratch nodes are what their texts give.
static inline bool shadow_verify_states(struct shadow *w, kv_seq s) {
    const struct shadow_seq *q = &w->seqs[s];
    const int32_t slot = kv_seq_state(w->k, s, q->len);
    bool ok = CHECK((slot == KV_NONE) == (q->len == 0 || w->config.n_states == 0));
    if (slot != KV_NONE) ok = CHECK_INT(w->states[slot], shadow_root(q));
    for (int32_t i = 0; ok && w->config.n_states > 0 && i < q->n_nodes; i++)
        ok = CHECK_INT(w->states[kv_scratch_state(w->k, s, i)], shadow_node_value(q, i, shadow_root(q)));
    return ok;
}

static inline bool shadow_verify_seq(struct shadow *w, kv_seq s) {
    const struct shadow_seq *q = &w->seqs[s];
    if (!CHECK_INT(kv_seq_len(w->k, s), q->used ? q->len : KV_NONE) || !q->used) return !q->used;
    bool ok = CHECK_INT(kv_scratch_len(w->k, s), q->n_nodes);
    uint64_t value = q->start;
    for (int32_t p = 0; ok && p < q->len; p++) {
        value = shadow_value(value, q->keys[p]);
        ok = CHECK(kv_seq_key(w->k, s, p) == q->keys[p]);
        for (int32_t g = 0; ok && g < w->config.n_groups; g++) {
            const bool seen = w->config.window[g] == 0 || p > q->len - w->config.window[g];
            if (seen) ok = CHECK_INT(*shadow_slot(w, g, kv_seq_slot(w->k, s, g, p)), value + (uint64_t)g);
        }
    }
    for (int32_t i = 0; ok && i < q->n_nodes; i++) {
        ok = CHECK_INT(kv_scratch_parent(w->k, s, i), q->parents[i]);
        for (int32_t g = 0; ok && g < w->config.n_groups; g++)
            ok = CHECK_INT(*shadow_slot(w, g, kv_scratch_slot(w->k, s, i, g)),
                           shadow_node_value(q, i, value) + (uint64_t)g);
    }
    return ok && shadow_verify_states(w, s);
}

static inline bool shadow_verify(struct shadow *w) {
    rn_error err = {0};
    bool ok = CHECK_OK(kv_check(w->k, &err), &err);
    for (kv_seq s = 0; ok && s < SHADOW_SEQS; s++) ok = shadow_verify_seq(w, s);
    struct kv_stats stats;
    kv_stats_get(w->k, &stats);
    ok = ok && CHECK_INT(stats.n_free + stats.n_cached + stats.n_used, stats.n_pages);
    for (int32_t g = 0; g < w->config.n_groups; g++)
        for (int32_t p = 0; p < w->config.n_pages[g]; p++)
            if (kv_page_is_free(w->k, g, p)) memset(w->slots[g][p], 0xa5, sizeof w->slots[g][p]);
    for (int32_t i = 0; i < w->config.n_states; i++)
        if (kv_page_is_free(w->k, KV_STATE, i)) w->states[i] = 0xa5a5;
    return ok;
}

static inline kv_seq shadow_seq_new(struct shadow *w) {
    kv_seq s;
    rn_error err = {0};
    if (!CHECK_OK(kv_seq_new(w->k, &s, &err), &err)) return KV_NONE;
    w->seqs[s] = (struct shadow_seq){.used = true};
    return s;
}

// Rows of a step that is still to run. Anything but RN_OK leaves the shadow as it was.
static inline rn_status shadow_book(struct shadow *w, kv_seq s, const uint64_t *keys, int32_t n) {
    struct shadow_seq *q = &w->seqs[s];
    const rn_status st = kv_append(w->k, s, keys, n, NULL);
    if (st != RN_OK) return st;
    memcpy(q->keys + q->len, keys, (size_t)n * sizeof *keys);
    q->len += n;
    return st;
}

// A step of one sequence: append, store, commit.
static inline rn_status shadow_append(struct shadow *w, kv_seq s, const uint64_t *keys, int32_t n) {
    const rn_status st = shadow_book(w, s, keys, n);
    if (st != RN_OK) return st;
    kv_place_states(w->k);
    shadow_store(w, s, w->seqs[s].len - n);
    kv_commit(w->k);
    return st;
}

// Keys first, first + 1, ...
static inline rn_status shadow_append_run(struct shadow *w, kv_seq s, uint64_t first, int32_t n) {
    uint64_t keys[SHADOW_CTX];
    for (int32_t i = 0; i < n && i < SHADOW_CTX; i++) keys[i] = first + (uint64_t)i;
    return shadow_append(w, s, keys, n);
}

static inline rn_status shadow_node(struct shadow *w, kv_seq s, int32_t parent, uint64_t key) {
    struct shadow_seq *q = &w->seqs[s];
    int32_t node;
    const rn_status st = kv_scratch_add(w->k, s, parent, key, &node, NULL);
    if (st != RN_OK) return st;
    CHECK_INT(node, q->n_nodes);
    q->parents[node] = parent;
    q->node_keys[node] = key;
    q->n_nodes++;
    for (int32_t g = 0; g < w->config.n_groups; g++)
        *shadow_slot(w, g, kv_scratch_slot(w->k, s, node, g)) =
            shadow_node_value(q, node, shadow_root(q)) + (uint64_t)g;
    if (w->config.n_states > 0)
        shadow_recur(w, parent < 0 ? kv_seq_state(w->k, s, q->len) : kv_scratch_state(w->k, s, parent),
                     kv_scratch_state(w->k, s, node), key);
    kv_commit(w->k);
    return st;
}

static inline rn_status shadow_keep(struct shadow *w, kv_seq s, const int32_t *path, int32_t n) {
    struct shadow_seq *q = &w->seqs[s];
    const rn_status st = kv_keep(w->k, s, path, n, NULL);
    if (st != RN_OK) return st;
    for (int32_t i = 0; i < n; i++) q->keys[q->len++] = q->node_keys[path[i]];
    q->n_nodes = 0;
    return st;
}

// The same step asks for the state after the first n_asked of n keys.
static inline rn_status shadow_append_asking(struct shadow *w, kv_seq s, const uint64_t *keys, int32_t n,
                                             int32_t n_asked) {
    const int32_t len = w->seqs[s].len;
    rn_status st = shadow_book(w, s, keys, n_asked);
    if (st != RN_OK) return st;
    kv_snapshot(w->k, s);
    if ((st = shadow_book(w, s, keys + n_asked, n - n_asked)) != RN_OK) {
        CHECK_INT(kv_truncate(w->k, s, len), len);
        w->seqs[s].len = len;
        return st;
    }
    kv_place_states(w->k);
    shadow_store(w, s, len);
    kv_commit(w->k);
    return st;
}

static inline int32_t shadow_truncate(struct shadow *w, kv_seq s, int32_t n) {
    struct shadow_seq *q = &w->seqs[s];
    const int32_t kept = kv_truncate(w->k, s, n);
    CHECK(kept <= n && kept <= q->len);
    q->len = kept;
    q->n_nodes = 0;
    if (kept == 0) q->start = 0;
    return kept;
}

static inline kv_seq shadow_fork(struct shadow *w, kv_seq s) {
    kv_seq out;
    rn_error err = {0};
    if (!CHECK_OK(kv_seq_fork(w->k, s, &out, &err), &err)) return KV_NONE;
    w->seqs[out] = w->seqs[s];
    w->seqs[out].n_nodes = 0;
    return out;
}

// A private sequence of these keys, filled as one whose values begin with `start`; *out is KV_NONE where there is no room.
static inline rn_status shadow_private(struct shadow *w, const uint64_t *keys, int32_t n, uint64_t start,
                                       kv_seq *out) {
    const rn_status st = kv_seq_new_private(w->k, keys, n, out, NULL);
    if (st != RN_OK) return st;
    struct shadow_seq *q = &w->seqs[*out];
    *q = (struct shadow_seq){.used = true, .len = n, .start = n ? start : 0};
    memcpy(q->keys, keys, (size_t)n * sizeof *keys);
    for (int32_t g = 0; g < w->config.n_groups; g++)
        for (int32_t p = kv_first_block(w->k, g, n) * KV_PAGE; p < n; p++)
            *shadow_slot(w, g, kv_seq_slot(w->k, *out, g, p)) = shadow_value_from(start, keys, p + 1) + (uint64_t)g;
    if (n > 0 && w->config.n_states > 0) w->states[kv_seq_state(w->k, *out, n)] = shadow_root(q);
    return st;
}

static inline void shadow_seq_free(struct shadow *w, kv_seq s) {
    kv_seq_free(w->k, s);
    w->seqs[s].used = false;
}

static inline kv_seq shadow_match(struct shadow *w, const uint64_t *keys, int32_t n, int32_t *matched,
                                  enum kv_miss *why) {
    kv_seq s;
    rn_error err = {0};
    if (!CHECK_OK(kv_match_prefix(w->k, keys, n, &s, matched, why, &err), &err)) return KV_NONE;
    w->seqs[s] = (struct shadow_seq){.used = true, .len = *matched};
    memcpy(w->seqs[s].keys, keys, (size_t)*matched * sizeof *keys);
    return s;
}

#endif
