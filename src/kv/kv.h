// kv/kv.h - bookkeeping of keys, values and states.
//
// Which sequence holds which page of 64 positions and which slot of recurrent state. Pages and
// slots are numbers here; their bytes belong to a backend, which carries out the copies that kv
// requests.
//
// A sequence is a length and, for each group of layers, a list of pages. Full pages are immutable
// and shared by count; a page that must be written while another holder shares it is copied first.
// Layers with the same needs form a group: group 0 keeps every position, a windowed group keeps
// what its window still sees and releases older pages. A scratch tree continues a sequence after
// its last position: rows in private pages, each with a parent, until kv_keep() commits one path.
// The prefix index remembers finished blocks by a hash chain over row keys and compares them fully
// on a hit.
//
// Layers with a recurrence keep no positions but one state, which every row replaces. A slot holds
// the state of all such layers after one position. A sequence writes its slot in place while no
// other holder has it; a slot that a fork shares, or that the index keeps, is only read: the next
// row writes another slot. So neither a fork nor a kept state costs a copy. A recurrence cannot be
// run backwards: a sequence can go back to where it was last committed, to where a state was kept,
// and to the beginning.
//
// Ownership: kv_create() / kv_destroy(); all memory is taken at create, so nothing here allocates
// afterwards.
// Threads:   one at a time (the engine's step thread).
// Invariant: a page is free, or counted: references by sequences + scratch trees + index blocks.
// kv_check() verifies it all.
#ifndef RN_KV_KV_H
#define RN_KV_KV_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KV_PAGE       64 // positions of a page
#define KV_MAX_GROUPS 8
#define KV_STATE      KV_MAX_GROUPS // in place of a group: the slots of state
#define KV_NONE       (-1)

struct kv_config {
    int32_t n_groups;               // 1..KV_MAX_GROUPS
    int32_t n_pages[KV_MAX_GROUPS]; // pages of each group's pool
    // positions a group's layers look back, itself included; 0: all. Group 0's is 0
    int32_t window[KV_MAX_GROUPS];
    int32_t max_seqs;
    int32_t n_ctx;       // longest sequence
    int32_t max_scratch; // nodes of one sequence's scratch tree
    int32_t n_states;    // slots of state; 0: no layer has a recurrence
    // A state is kept at each multiple of it, as slots allow; itself a multiple of KV_PAGE. 0: only
    // for kv_snapshot().
    int32_t state_interval;
    uint64_t identity; // model, adapters and arithmetic: the root of every hash chain
};

typedef struct kv kv;
typedef int32_t kv_seq; // 0..max_seqs-1

struct kv_slot { // where a position's keys and values are, in one group
    int32_t page, slot;
};
// Work for the backend, in order, before it stores new rows: copy slots [slot_src, +n) of page src
// to page dst at slot_dst. A failure ends the operation that needed the copy (kv_append, kv_scratch_add, kv_keep):
// committed positions stay as they were.
struct kv_copy {
    int32_t group, src, slot_src, dst, slot_dst, n;
};
typedef rn_status (*kv_copy_fn)(void *user, const struct kv_copy *c, rn_error *err);

// RN_E_ARG: a number out of its range. RN_E_LIMIT, RN_E_NOMEM: the bookkeeping does not fit into
// memory. copy: not NULL.
rn_status kv_create(const struct kv_config *c, kv_copy_fn copy, void *user, kv **out, rn_error *err);
void kv_destroy(kv *k); // NULL is fine

// RN_E_LIMIT: max_seqs are in use.
rn_status kv_seq_new(kv *k, kv_seq *out, rn_error *err);
// A sequence of n positions with these row keys, whose pages and state come from elsewhere:
// kv_first_block() and later of each group, and the slot kv_seq_state(n), are its own, to be filled
// before its next row. It is private, and so are its forks, until it is cut to nothing: no other
// sequence ever finds or shares what it holds, and it goes back only as far as it holds pages (its
// state: not at all). All or nothing. RN_E_LIMIT: max_seqs are in use; n is beyond n_ctx; not
// enough pages even after eviction, or no slot.
rn_status kv_seq_new_private(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, rn_error *err);
// The first block that a sequence of len positions holds of a group: no later row sees what lies
// before it.
int32_t kv_first_block(const kv *k, int32_t group, int32_t len);
// What the sequence held becomes cached blocks of the prefix index (its last, partly filled page
// too), or free pages.
void kv_seq_free(kv *k, kv_seq s);
// Shares all pages and the state; the scratch tree is not forked. RN_E_LIMIT: max_seqs are in use.
// RN_E_STATE: there are states, and rows that are not committed yet: they will write the slot that
// both would share.
rn_status kv_seq_fork(kv *k, kv_seq s, kv_seq *out, rn_error *err);
int32_t kv_seq_len(const kv *k, kv_seq s); // -1: s is not in use

// Make room for n more positions with these row keys (token id, or a content hash with the top bit
// set). All or nothing: RN_E_LIMIT (not enough pages even after eviction, no slot of state, or
// n_ctx) leaves the sequence as it was. RN_E_STATE: the sequence has a scratch tree. Until
// kv_commit() the new positions are not committed: no other sequence finds them, no page leaves the
// window because of them, and truncating (or freeing) removes them without a trace.
rn_status kv_append(kv *k, kv_seq s, const uint64_t *keys, int32_t n, rn_error *err);
// The end of a step: the keys and values of every position so far are stored, and the step's rows
// have read what they see. From now on full blocks can be matched while their sequence runs (equal
// blocks become one: a sequence's pages may change here), and a windowed group releases pages that
// lie wholly before position len - window + 1, the first that a row at position len sees. States
// are kept where state_interval or kv_snapshot() wanted it.
void kv_commit(kv *k);
// All rows of a step have been added, so the slots that are left can be used: rows after a position
// whose state is to be kept get a slot of their own. To be called before kv_seq_state() of the
// step; without this call only states at the ends of steps are kept.
void kv_place_states(kv *k);
// Keep the state after the sequence's present last position with the prefix index: at once, or if
// that position is not committed, at kv_commit() (of a step's requests for a sequence the last one
// counts). Best effort: there may be no slot, and a kept one may be evicted. No effect without
// states.
void kv_snapshot(kv *k, kv_seq s);
// The slot with the state after n positions, from the length at the last kv_commit() to the present
// one; of a position that is not committed: the slot that its row must write. Position p reads
// kv_seq_state(p) and writes kv_seq_state(p + 1); both may be the same slot. KV_NONE: the state of
// no positions, all zeros; or there are no states.
int32_t kv_seq_state(const kv *k, kv_seq s, int32_t n);
// One more scratch node below `parent` (a node, or KV_NONE: the sequence's last position); *node
// counts from 0 since the last kv_keep(). The first one copies a shared last page. Errors as for
// kv_append.
rn_status kv_scratch_add(kv *k, kv_seq s, int32_t parent, uint64_t key, int32_t *node, rn_error *err);
// How many more nodes kv_scratch_add() would take now, as a chain or as siblings; *why (NULL
// allowed) is the limit that is reached first: "nodes" (max_scratch), "context" (n_ctx leaves no
// position), "pages", "states" (slots: a node of a recurrent model has its own).
int32_t kv_scratch_room(const kv *k, kv_seq s, const char **why);
// Is there a slot of state for a scratch node that may be left out? States that are kept for later
// prompts make way for it only as long as half of all slots stay theirs. true without states.
bool kv_has_spare_state(const kv *k);
int32_t kv_scratch_len(const kv *k, kv_seq s);
int32_t kv_scratch_parent(const kv *k, kv_seq s, int32_t node);
// Depth from 1: the KV index of the node is kv_seq_len + depth - 1.
int32_t kv_scratch_depth(const kv *k, kv_seq s, int32_t node);
// Drops the nodes from n on (n <= kv_scratch_len): the newest ones, so every node that stays has
// its parent.
void kv_scratch_cut(kv *k, kv_seq s, int32_t n);
struct kv_slot kv_scratch_slot(const kv *k, kv_seq s, int32_t node, int32_t group);
// The slot of its own that a node writes its state to. It reads its parent's, or that of the
// sequence's last position.
int32_t kv_scratch_state(const kv *k, kv_seq s, int32_t node);
// Commit path[0..n) (each the parent of the next, path[0] a child of the last position); drops the
// rest of the tree. n = 0 drops all. The copies go through the copy function. RN_E_ARG: not such a
// path. RN_E_LIMIT: no page for the tail; nothing changed then. That happens only where the last
// page is partly filled and shared: new blocks are made of the tree's own pages, and the last
// node's state becomes the sequence's. RN_E_STATE: there are states, and appended rows that are not
// committed. A copy that failed: its error; the tree is gone, the sequence stays as it was.
rn_status kv_keep(kv *k, kv_seq s, const int32_t *path, int32_t n, rn_error *err);

// The longest restorable length L <= n: a row at position L must find positions L - window + 1 and
// later in each windowed group, in pages the sequence still holds or in index blocks that were not
// evicted; with states, one must have been kept after exactly L positions of this text. So it may
// be shorter than n (down to 0). Back to the length at the last kv_commit() or longer is always
// exact. Drops any scratch tree. Returns L; the caller evaluates the rest again.
int32_t kv_truncate(kv *k, kv_seq s, int32_t n);

// A block of a sequence: the page that holds positions [64 * block, 64 * block + 64) in a group;
// KV_NONE when it fell out of the window.
int32_t kv_seq_page(const kv *k, kv_seq s, int32_t group, int32_t block);
struct kv_slot kv_seq_slot(const kv *k, kv_seq s, int32_t group, int32_t pos);
uint64_t kv_seq_key(const kv *k, kv_seq s, int32_t pos);
// Is the page, or slot of KV_STATE, held by nothing? Then its contents are never read (tests fill
// it with garbage).
bool kv_page_is_free(const kv *k, int32_t group, int32_t page);

// Why a prefix ended where it did.
enum kv_miss {
    KV_MISS_NONE,    // all of it was there
    KV_MISS_EMPTY,   // nothing with this identity begins with this key
    KV_MISS_DIFFERS, // cached text goes on with another key at this position
    KV_MISS_END,     // cached text ends here (or its continuation was evicted)
    KV_MISS_WINDOW,  // a windowed group no longer has what this position needs
    KV_MISS_STATE    // keys and values go on, but no state was kept further on
};
// A new sequence that begins with the longest cached prefix of keys[0..n). *matched <= n; *why
// speaks of position *matched. Keys past n_ctx are not read. RN_E_LIMIT: max_seqs are in use.
rn_status kv_match_prefix(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, int32_t *matched, enum kv_miss *why,
                          rn_error *err);
// The same, but *matched is a multiple of KV_PAGE: a client that probes for another's text must
// guess a whole page at once, not key by key.
rn_status kv_match_pages(kv *k, const uint64_t *keys, int32_t n, kv_seq *out, int32_t *matched, enum kv_miss *why,
                         rn_error *err);

struct kv_stats {
    // of all groups: cached: held by the index alone, evictable
    int32_t n_pages, n_free, n_cached, n_used;
    int32_t n_states, n_states_cached, n_states_used; // slots of state, in the same way
    int32_t n_seqs;
    // evictions for want of a page; slots copied; positions matched
    uint64_t n_evicted, n_copied, n_hit_tokens;
    uint64_t n_states_evicted;
};
void kv_stats_get(const kv *k, struct kv_stats *out);
void kv_forget(kv *k); // drop every cached page; blocks that running sequences hold stay known
// Tests: recount everything (allocates for that); RN_E_INTERNAL names the first disagreement.
rn_status kv_check(const kv *k, rn_error *err);

#endif
