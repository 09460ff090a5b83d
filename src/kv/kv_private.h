// kv/kv_private.h - internals of kv/: pools of reference-counted pages, the prefix index over them,
// the sequences.
//
// Three invariants that everything else relies on:
//  - A block of the index is named by its page of group 0; that page also holds the block's 64
//    keys. So a block needs no memory of its own, forks share keys as they share pages, and the
//    first stored / 64 pages of a sequence *are* its chain of blocks.
//  - Whoever holds a page of group 0 holds all pages before it, and lets them go last page first.
//    So the list of cached pages (held by no one but the index), in the order of their release, is
//    both least-recently-used order and leaves-first order: its oldest page never has a child.
//  - A page that a block owns, or that two hold, is never written; pages_copy() makes a private one
//    first.
//
// Slots of state are pages of one more pool: counted, owned by blocks and evicted in the same way.
// A block owns at most one, the state after some of its positions. One that a block owns, or that
// two hold, is never written either: the next row writes into another.
//
// A private sequence knows no blocks: its pages are counted as any others, and free when no
// sequence holds them any more.
//
// Ownership: everything is allocated from kv.mem. Threads: as kv.h.
#ifndef RN_KV_KV_PRIVATE_H
#define RN_KV_KV_PRIVATE_H

#include "base/arena.h"
#include "kv/kv.h"

struct page {
    int32_t refs;       // holders among sequences and scratch trees
    int32_t block;      // the index block that owns it, or KV_NONE
    int32_t prev, next; // in the list of cached pages; next alone in the free list
};

#define KV_N_POOLS (KV_MAX_GROUPS + 1) // of the groups, and of states

// The pages of one group, or the slots of state. A page is free (no refs, no block), cached (no
// refs, a block) or used (refs).
struct pool {
    struct page *pages;
    int32_t n_pages, window;
    int32_t free, n_free;             // list head
    int32_t oldest, newest, n_cached; // list ends, in the order of release
    uint64_t n_evicted;               // for want of a page
};

// What the index knows of a group-0 page it owns: blocks[page].
struct block {
    uint64_t hash;      // of the chain up to its end; full blocks only
    int32_t n;          // positions: KV_PAGE, or fewer in the last block of a freed sequence
    int32_t parent;     // KV_NONE: the text begins here
    int32_t child;      // first of the list that runs through `next`
    int32_t prev, next; // siblings
    int32_t chain;      // next block of the same bucket; full blocks only
    // page[0] is its name; KV_NONE: that group's page was evicted, or no state was kept
    int32_t page[KV_N_POOLS];
    int32_t state_at; // page[KV_STATE] is the state after so many of the n positions
};

struct node {
    int32_t parent, depth;
};

// Promised rows from position `start` on, to the next run or to the end, write their states to this
// slot.
struct run {
    int32_t start, slot;
};

struct seq {
    bool used;
    bool dirty; // listed in kv.dirty
    // kv_seq_new_private(): no block of the index has a page or slot of it
    bool is_private;
    int32_t len;    // positions
    int32_t stored; // of these, how many kv_commit() has seen
    // first block held; those before fell out of the window and read KV_NONE
    int32_t first[KV_MAX_GROUPS];
    int32_t *pages[KV_MAX_GROUPS]; // [ceil(len / KV_PAGE)]
    int32_t n_nodes;               // of the scratch tree
    struct node *nodes;            // [max_scratch]
    // [ceil(n_nodes / KV_PAGE)]: node i is slot i % KV_PAGE of page i / KV_PAGE
    int32_t *node_pages[KV_MAX_GROUPS];
    // With states; each slot is held once.
    int32_t state;    // after the `stored` positions; KV_NONE: there are none
    int32_t n_runs;   // of the promised rows
    struct run *runs; // [n_ctx / state_interval + 2]; the first one's slot may be `state`
    // kv_commit() keeps the state after this many positions, some of them promised; 0: none
    int32_t keep_at;
    int32_t *node_states; // [max_scratch]
};

struct kv {
    struct kv_config config;
    kv_copy_fn copy;
    void *user;
    struct arena mem;

    struct pool pool[KV_N_POOLS]; // without pages where there is no such group
    uint64_t *keys;               // [n_pages[0]][KV_PAGE]
    struct block *blocks;         // [n_pages[0]]
    int32_t first_text;           // list of the blocks without a parent
    int32_t *buckets;             // [bucket_mask + 1]
    uint64_t bucket_mask;
    // hash_bytes; tests put a bad one here
    uint64_t (*hash)(const void *data, size_t n, uint64_t seed);

    struct seq *seqs; // [max_seqs]
    int32_t *spare;   // ids of unused sequences, a stack
    int32_t n_spare;
    int32_t *dirty; // ids of sequences with rows that kv_commit() has not seen, or had such
    int32_t n_dirty;

    uint64_t n_copied, n_hit_tokens;
};

static inline int32_t n_blocks(int32_t len) { return (len + KV_PAGE - 1) / KV_PAGE; }
static inline uint64_t *page_keys(const kv *k, int32_t page) { return k->keys + (size_t)page * KV_PAGE; }

// The next row of a sequence of len positions stands at position len and sees [len - window + 1,
// len]; rows after it see no earlier ones. So this is the first block that is still needed, and all
// pages before it may go.
static inline int32_t first_needed(const struct pool *g, int32_t len) {
    return g->window == 0 || len < g->window ? 0 : (len - g->window + 1) / KV_PAGE;
}

// pages.c
static inline int32_t pages_available(const struct pool *g) { return g->n_free + g->n_cached; }
// refs = 1. There must be one available; may evict
int32_t page_take(kv *k, int32_t group);
void page_hold(kv *k, int32_t group, int32_t page);    // one more ref
void page_release(kv *k, int32_t group, int32_t page); // one less: used -> cached or free
void page_own(kv *k, int32_t group, int32_t page, int32_t block);
// cached -> free; a used page stays with its holders
void page_disown(kv *k, int32_t group, int32_t page);
// its block lives on without it; group is not 0
void page_forget(kv *k, int32_t group, int32_t page);
// the least recently used cached page; there must be one
void pages_evict(kv *k, int32_t group);
rn_status pages_copy(kv *k, const struct kv_copy *c, rn_error *err); // keys and statistics included

// prefix_index.c
int32_t index_find(const kv *k, int32_t parent, const uint64_t *keys); // a full block, or KV_NONE
// Enters block b of q, whose rows are stored. Where an equal one is known already, q changes over
// to its pages.
void index_add_full(kv *k, struct seq *q, int32_t b);
// Enters q's block that position n stands in up to there, or finds it known; n is not a multiple of
// KV_PAGE, and stored. Returns a block of that text, in which a state after n may be kept.
int32_t index_add_partial(kv *k, const struct seq *q, int32_t n);
void index_drop(kv *k, int32_t block); // a block without children
// Among the children of parent one with a state after the first at positions of keys, 1 <= at <= n,
// the largest; KV_NONE: none.
int32_t index_find_state(const kv *k, int32_t parent, const uint64_t *keys, int32_t n);

// states.c. All do nothing without states.
bool states_have_room(const kv *k, const struct seq *q); // to append
void states_append(kv *k, struct seq *q);                // at least one row; there must be room
// As if the path had been appended and run. Its nodes still stand.
void states_keep_path(kv *k, struct seq *q, const int32_t *path, int32_t n);
void states_settle(kv *k, struct seq *q); // the promised rows' states are stored
int32_t states_restorable(const kv *k, const struct seq *q, int32_t n);
void states_cut(kv *k, struct seq *q, int32_t len); // to a restorable length; before q->len is
void states_share(kv *k, struct seq *q);            // q is a copy of its original
// Gives the state after n stored positions to a block of them, unless it has one, or the slot a
// block.
void states_give(kv *k, const struct seq *q, int32_t n, int32_t slot);

// seqs.c
struct seq *seq_at(const kv *k, kv_seq s);
// KV_NONE: gone
int32_t seq_page_or_cached(const kv *k, const struct seq *q, int32_t group, int32_t block);
// The longest length <= n whose next row has what it needs; and the same but for the state.
int32_t seq_restorable(const kv *k, const struct seq *q, int32_t n);
int32_t seq_windows_restorable(const kv *k, const struct seq *q, int32_t n);
void seq_cut(kv *k, struct seq *q, int32_t len); // to a restorable length
// all rows are stored: index full blocks, let old pages go
void seq_settle(kv *k, struct seq *q);
bool seq_tail_is_shared(const kv *k, const struct seq *q, int32_t group);
rn_status seq_own_tail(kv *k, struct seq *q,
                       rn_error *err); // a private last page in all groups; pages must be available

#endif
