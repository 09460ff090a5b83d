// kv/kv.c - creation from a configuration, and statistics.
#include "kv/kv.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/mem.h"
#include "kv/kv_private.h"
#include <assert.h>

static rn_status check_number(const char *what, int64_t value, int64_t lowest, int64_t highest, rn_error *err) {
    if (value >= lowest && value <= highest) return RN_OK;
    return fail(err, RN_E_ARG, "kv: %s: %lld is outside %lld..%lld", what, (long long)value, (long long)lowest,
                (long long)highest);
}

static rn_status check_config(const struct kv_config *c, rn_error *err) {
    const struct {
        const char *what;
        int32_t value, lowest, highest;
    } rows[] = {
        {"n_groups", c->n_groups, 1, KV_MAX_GROUPS},
        {"max_seqs", c->max_seqs, 1, INT32_MAX},
        {"n_ctx", c->n_ctx, 1, INT32_MAX - KV_PAGE}, // a length rounded up to pages is still an int32_t
        {"max_scratch", c->max_scratch, 0, INT32_MAX - KV_PAGE},
        {"window of group 0", c->window[0], 0, 0},
        {"n_states", c->n_states, 0, INT32_MAX},
        {"state_interval", c->state_interval, 0, INT32_MAX},
    };
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < sizeof rows / sizeof *rows; i++)
        st = check_number(rows[i].what, rows[i].value, rows[i].lowest, rows[i].highest, err);
    int64_t n_pages = 0;
    for (int32_t g = 0; st == RN_OK && g < c->n_groups; g++) {
        st = check_number("n_pages", c->n_pages[g], 1, INT32_MAX, err);
        if (st == RN_OK) st = check_number("window", c->window[g], 0, INT32_MAX, err);
        n_pages += c->n_pages[g];
    }
    if (st == RN_OK && c->state_interval % KV_PAGE != 0)
        return fail(err, RN_E_ARG, "kv: state_interval: %d is not a multiple of %d", c->state_interval, KV_PAGE);
    return st == RN_OK ? check_number("pages of all groups", n_pages, 1, INT32_MAX, err) : st;
}

// One of the arrays: n * size bytes from the arena, zeroed. Remembers the first failure in *st and does nothing
// after it.
static void *take(kv *k, rn_status *st, size_t n, size_t size) {
    size_t n_bytes = 0;
    if (*st != RN_OK) return NULL;
    if (!size_mul(n, size, &n_bytes)) *st = RN_E_LIMIT;
    void *p = *st == RN_OK ? arena_alloc(&k->mem, n_bytes) : NULL;
    if (*st == RN_OK && !p) *st = RN_E_NOMEM;
    return p;
}

static int32_t pool_size(const struct kv_config *c, int32_t pool) {
    return pool == KV_STATE ? c->n_states : pool < c->n_groups ? c->n_pages[pool] : 0;
}

static void take_states(kv *k, struct seq *q, rn_status *st) {
    const struct kv_config *c = &k->config;
    const size_t n_places = c->state_interval ? (size_t)(c->n_ctx / c->state_interval) : 0;
    if (c->n_states == 0) return;
    q->runs = take(k, st, n_places + 2, sizeof *q->runs); // the first one, one for each place, one for kv_snapshot()
    q->node_states = take(k, st, (size_t)c->max_scratch, sizeof *q->node_states);
}

static rn_status take_memory(kv *k) {
    const struct kv_config *c = &k->config;
    const size_t n_seqs = (size_t)c->max_seqs, n_pages = (size_t)c->n_pages[0];
    const size_t seq_blocks = (size_t)n_blocks(c->n_ctx), node_blocks = (size_t)n_blocks(c->max_scratch);
    size_t n_buckets = 1;
    while (n_buckets < n_pages) n_buckets *= 2;
    k->bucket_mask = n_buckets - 1;

    rn_status st = RN_OK;
    for (int32_t g = 0; g < KV_N_POOLS; g++)
        k->pool[g].pages = take(k, &st, (size_t)pool_size(c, g), sizeof *k->pool[g].pages);
    k->keys = take(k, &st, n_pages, KV_PAGE * sizeof *k->keys);
    k->blocks = take(k, &st, n_pages, sizeof *k->blocks);
    k->buckets = take(k, &st, n_buckets, sizeof *k->buckets);
    k->spare = take(k, &st, n_seqs, sizeof *k->spare);
    k->dirty = take(k, &st, n_seqs, sizeof *k->dirty);
    k->seqs = take(k, &st, n_seqs, sizeof *k->seqs);
    for (size_t s = 0; st == RN_OK && s < n_seqs; s++) {
        struct seq *q = &k->seqs[s];
        q->nodes = take(k, &st, (size_t)c->max_scratch, sizeof *q->nodes);
        for (int32_t g = 0; g < c->n_groups; g++) {
            q->pages[g] = take(k, &st, seq_blocks, sizeof *q->pages[g]);
            q->node_pages[g] = take(k, &st, node_blocks, sizeof *q->node_pages[g]);
        }
        take_states(k, q, &st);
    }
    return st;
}

static void start_empty(kv *k) {
    for (int32_t g = 0; g < KV_N_POOLS; g++) {
        struct pool *pool = &k->pool[g];
        pool->n_pages = pool->n_free = pool_size(&k->config, g);
        pool->window = g < k->config.n_groups ? k->config.window[g] : 0;
        pool->oldest = pool->newest = KV_NONE;
        if (pool->n_pages == 0) pool->free = KV_NONE;
        for (int32_t p = 0; p < pool->n_pages; p++)
            pool->pages[p] = (struct page){.block = KV_NONE, .next = p + 1 < pool->n_pages ? p + 1 : KV_NONE};
    }
    for (size_t i = 0; i <= k->bucket_mask; i++) k->buckets[i] = KV_NONE;
    k->first_text = KV_NONE;
    while (k->n_spare < k->config.max_seqs) { // the lowest number comes out first
        k->spare[k->n_spare] = k->config.max_seqs - 1 - k->n_spare;
        k->n_spare++;
    }
}

rn_status kv_create(const struct kv_config *c, kv_copy_fn copy, void *user, kv **out, rn_error *err) {
    assert(c && copy && out);
    *out = NULL;
    rn_status st = check_config(c, err);
    if (st != RN_OK) return st;
    kv *k = mem_alloc(sizeof *k);
    if (!k) return fail(err, RN_E_NOMEM, "kv: out of memory");
    *k = (kv){.config = *c, .copy = copy, .user = user, .hash = hash_bytes};
    st = take_memory(k);
    if (st != RN_OK) {
        kv_destroy(k);
        return fail(err, st, "kv: bookkeeping for %d sequences of %d positions do not fit into memory", c->max_seqs,
                    c->n_ctx);
    }
    start_empty(k);
    *out = k;
    return RN_OK;
}

void kv_destroy(kv *k) {
    if (k) arena_free(&k->mem);
    mem_free(k);
}

bool kv_page_is_free(const kv *k, int32_t group, int32_t page) {
    assert(group >= 0 && group < KV_N_POOLS && page >= 0 && page < k->pool[group].n_pages);
    const struct page *p = &k->pool[group].pages[page];
    return p->refs == 0 && p->block == KV_NONE;
}

void kv_stats_get(const kv *k, struct kv_stats *out) {
    const struct pool *states = &k->pool[KV_STATE];
    *out = (struct kv_stats){
        .n_states = states->n_pages,
        .n_states_cached = states->n_cached,
        .n_states_used = states->n_pages - pages_available(states),
        .n_states_evicted = states->n_evicted,
        .n_seqs = k->config.max_seqs - k->n_spare,
        .n_copied = k->n_copied,
        .n_hit_tokens = k->n_hit_tokens,
    };
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const struct pool *pool = &k->pool[g];
        out->n_pages += pool->n_pages;
        out->n_free += pool->n_free;
        out->n_cached += pool->n_cached;
        out->n_evicted += pool->n_evicted;
    }
    out->n_used = out->n_pages - out->n_free - out->n_cached;
}
