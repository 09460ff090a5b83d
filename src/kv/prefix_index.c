// kv/prefix_index.c - finds finished blocks of text again, by what stands in them and before them.
//
// A tree of blocks: full ones are found by a hash over (the parent's hash, 64 keys) and compared key by key, so
// that a collision costs time, never truth; where the text leaves the full blocks, the children of the last one are
// looked through for the longest common beginning. Two full blocks with the same parent and keys never coexist.
#include "base/hash.h"
#include "kv/kv_private.h"
#include <assert.h>
#include <string.h>

static uint64_t chain_hash(const kv *k, int32_t parent, const uint64_t *keys) {
    const uint64_t before = parent == KV_NONE ? hash_u64(k->config.identity, 0) : k->blocks[parent].hash;
    return k->hash(keys, KV_PAGE * sizeof *keys, before);
}

static int32_t *bucket_of(const kv *k, uint64_t hash) { return &k->buckets[hash & k->bucket_mask]; }

static int32_t *children_of(kv *k, int32_t parent) {
    return parent == KV_NONE ? &k->first_text : &k->blocks[parent].child;
}

static int32_t common_length(const uint64_t *a, const uint64_t *b, int32_t n) {
    int32_t i = 0;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

int32_t index_find(const kv *k, int32_t parent, const uint64_t *keys) {
    const uint64_t hash = chain_hash(k, parent, keys);
    int32_t b = *bucket_of(k, hash);
    for (; b != KV_NONE; b = k->blocks[b].chain) {
        const struct block *x = &k->blocks[b];
        if (x->hash == hash && x->parent == parent && common_length(page_keys(k, b), keys, KV_PAGE) == KV_PAGE) break;
    }
    return b;
}

// Enters block `block` of q, n positions long, under its own name.
static void insert(kv *k, const struct seq *q, int32_t block, int32_t n) {
    const int32_t name = q->pages[0][block], parent = block ? q->pages[0][block - 1] : KV_NONE;
    struct block *b = &k->blocks[name];
    int32_t *siblings = children_of(k, parent);
    *b = (struct block){
        .n = n, .parent = parent, .child = KV_NONE, .prev = KV_NONE, .next = *siblings, .chain = KV_NONE};
    if (b->next != KV_NONE) k->blocks[b->next].prev = name;
    *siblings = name;
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        b->page[g] = q->pages[g][block];
        page_own(k, g, b->page[g], name);
    }
    b->page[KV_STATE] = KV_NONE;
    if (n < KV_PAGE) return;
    b->hash = chain_hash(k, parent, page_keys(k, name));
    int32_t *bucket = bucket_of(k, b->hash);
    b->chain = *bucket;
    *bucket = name;
}

// q's block b has the text of block `known`: q goes over to the known pages, and gives those that were evicted there.
static void merge(kv *k, struct seq *q, int32_t b, int32_t known) {
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const int32_t ours = q->pages[g][b], theirs = k->blocks[known].page[g];
        if (ours == theirs) continue;
        if (theirs == KV_NONE) {
            k->blocks[known].page[g] = ours;
            page_own(k, g, ours, known);
        } else {
            page_hold(k, g, theirs);
            q->pages[g][b] = theirs;
            page_release(k, g, ours);
        }
    }
}

void index_add_full(kv *k, struct seq *q, int32_t b) {
    const int32_t known = index_find(k, b ? q->pages[0][b - 1] : KV_NONE, page_keys(k, q->pages[0][b]));
    if (known == KV_NONE)
        insert(k, q, b, KV_PAGE);
    else
        merge(k, q, b, known);
}

static bool is_complete(const kv *k, int32_t block) {
    for (int32_t g = 1; g < k->config.n_groups; g++)
        if (k->blocks[block].page[g] == KV_NONE) return false;
    return true;
}

static bool may_keep_state(const struct block *b, int32_t n) {
    return b->page[KV_STATE] == KV_NONE || b->state_at == n;
}

int32_t index_add_partial(kv *k, const struct seq *q, int32_t len) {
    const int32_t b = len / KV_PAGE, n = len % KV_PAGE;
    const int32_t name = q->pages[0][b];
    struct block *own = &k->blocks[name];
    if (k->pool[0].pages[name].block != KV_NONE) { // entered by a fork of q that was cut shorter, or found there by q
        if (own->n < n) own->n = n;
        return name;
    }
    for (int32_t c = *children_of(k, b ? q->pages[0][b - 1] : KV_NONE); c != KV_NONE; c = k->blocks[c].next)
        if (k->blocks[c].n >= n && is_complete(k, c) && may_keep_state(&k->blocks[c], n) &&
            common_length(page_keys(k, c), page_keys(k, name), n) == n)
            return c;
    insert(k, q, b, n);
    return name;
}

void index_drop(kv *k, int32_t block) {
    const struct block *b = &k->blocks[block];
    assert(b->child == KV_NONE);
    if (b->prev != KV_NONE)
        k->blocks[b->prev].next = b->next;
    else
        *children_of(k, b->parent) = b->next;
    if (b->next != KV_NONE) k->blocks[b->next].prev = b->prev;
    if (b->n == KV_PAGE) {
        int32_t *at = bucket_of(k, b->hash);
        while (*at != block) at = &k->blocks[*at].chain;
        *at = b->chain;
    }
    if (b->page[KV_STATE] != KV_NONE) page_disown(k, KV_STATE, b->page[KV_STATE]);
    for (int32_t g = k->config.n_groups - 1; g >= 0; g--)
        if (b->page[g] != KV_NONE) page_disown(k, g, b->page[g]);
}

int32_t index_find_state(const kv *k, int32_t parent, const uint64_t *keys, int32_t n) {
    int32_t best = KV_NONE, best_at = 0;
    int32_t c = parent == KV_NONE ? k->first_text : k->blocks[parent].child;
    for (; c != KV_NONE; c = k->blocks[c].next) {
        const int32_t at = k->blocks[c].page[KV_STATE] == KV_NONE ? 0 : k->blocks[c].state_at;
        if (at <= best_at || at > n || common_length(page_keys(k, c), keys, at) < at) continue;
        best = c;
        best_at = at;
    }
    return best;
}

struct index_child {
    int32_t block, n; // the child with the longest beginning in common, and how long that is; KV_NONE and 0: none
    bool any;         // does the parent have children at all?
    bool goes_on;     // does one of the best have more keys than that?
};
static struct index_child best_child(const kv *k, int32_t parent, const uint64_t *keys, int32_t n) {
    struct index_child best = {.block = KV_NONE};
    int32_t c = parent == KV_NONE ? k->first_text : k->blocks[parent].child;
    best.any = c != KV_NONE;
    for (; c != KV_NONE; c = k->blocks[c].next) {
        const int32_t n_child = k->blocks[c].n;
        const int32_t common = common_length(page_keys(k, c), keys, n_child < n ? n_child : n);
        if (common == 0 || common < best.n) continue;
        const bool goes_on = n_child > common || (common == best.n && best.goes_on);
        if (common > best.n || is_complete(k, c)) best.block = c; // among equals one that a windowed group can use
        best.n = common;
        best.goes_on = goes_on;
    }
    return best;
}

// Fills the new sequence q with the longest cached prefix, of whole pages or not, all groups' pages but group 0's left
// out. Says why it ended.
static enum kv_miss hold_longest(kv *k, struct seq *q, const uint64_t *keys, int32_t n, bool is_whole) {
    int32_t parent = KV_NONE;
    while (n - q->len >= KV_PAGE) {
        const int32_t b = index_find(k, parent, keys + q->len);
        if (b == KV_NONE) break;
        page_hold(k, 0, b);
        q->pages[0][q->len / KV_PAGE] = parent = b;
        q->len += KV_PAGE;
    }
    if (q->len == n) return KV_MISS_NONE;
    const struct index_child best = best_child(k, parent, keys + q->len, n - q->len);
    if (best.block != KV_NONE && !is_whole) {
        page_hold(k, 0, best.block);
        q->pages[0][q->len / KV_PAGE] = best.block;
        q->len += best.n;
    }
    if (q->len == n) return KV_MISS_NONE;
    if (q->len == 0) return KV_MISS_EMPTY;
    return best.goes_on || (best.n == 0 && best.any) ? KV_MISS_DIFFERS : KV_MISS_END;
}

// The longest restorable length of whole pages.
static int32_t pages_restorable(const kv *k, const struct seq *q, int32_t n) {
    int32_t len = seq_restorable(k, q, n);
    while (len % KV_PAGE) len = seq_restorable(k, q, len - len % KV_PAGE); // a state may lie inside a page
    return len;
}

static rn_status match(kv *k, const uint64_t *keys, int32_t n, bool is_whole, kv_seq *out, int32_t *matched,
                       enum kv_miss *why, rn_error *err) {
    assert(n >= 0);
    const rn_status st = kv_seq_new(k, out, err);
    if (st != RN_OK) return st;
    struct seq *q = seq_at(k, *out);
    *why = hold_longest(k, q, keys, n < k->config.n_ctx ? n : k->config.n_ctx, is_whole);
    if (*why == KV_MISS_NONE && q->len < n) *why = KV_MISS_END; // nothing cached is longer than n_ctx
    q->stored = q->len;
    for (int32_t g = 1; g < k->config.n_groups; g++) { // windowed groups: only what the next row needs
        q->first[g] = n_blocks(q->len);
        for (int32_t b = 0; b < q->first[g]; b++) q->pages[g][b] = KV_NONE;
    }
    const int32_t found = q->len, len = is_whole ? pages_restorable(k, q, found) : seq_restorable(k, q, found);
    if (len < found) *why = seq_windows_restorable(k, q, found) < found ? KV_MISS_WINDOW : KV_MISS_STATE;
    seq_cut(k, q, len);
    *matched = len;
    k->n_hit_tokens += (uint64_t)len;
    return RN_OK;
}

rn_status kv_match_prefix(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, int32_t *matched, enum kv_miss *why,
                          rn_error *err) {
    return match(k, keys, n, false, out, matched, why, err);
}

rn_status kv_match_pages(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, int32_t *matched, enum kv_miss *why,
                         rn_error *err) {
    return match(k, keys, n, true, out, matched, why, err);
}

void kv_forget(kv *k) {
    for (int32_t g = 0; g < KV_N_POOLS; g++)
        while (k->pool[g].n_cached > 0) pages_evict(k, g);
}
