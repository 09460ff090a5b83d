// kv/states.c - slots of recurrent state: which one a row writes, where one is kept, and going back to one.
//
// Promised rows form runs: all rows of a run write one slot after the other's state, in place. A new run, and with it a slot that is
// left alone from then on, begins where the state is to be kept.
#include "kv/kv_private.h"
#include <assert.h>

static struct page *slot_of(const kv *k, int32_t slot) { return &k->pool[KV_STATE].pages[slot]; }

static void release(kv *k, int32_t slot) {
    if (slot != KV_NONE) page_release(k, KV_STATE, slot);
}

// Is q the only one that has its state?
static bool holds_alone(const kv *k, const struct seq *q) {
    return q->state != KV_NONE && slot_of(k, q->state)->refs == 1;
}

bool states_have_room(const kv *k, const struct seq *q) {
    return k->config.n_states == 0 || q->n_runs > 0 || holds_alone(k, q) || pages_available(&k->pool[KV_STATE]) > 0;
}

// Appending.

static int32_t first_slot(kv *k, const struct seq *q) {
    if (!holds_alone(k, q)) return page_take(k, KV_STATE);
    if (slot_of(k, q->state)->block != KV_NONE) {
        if (pages_available(&k->pool[KV_STATE]) > 0) return page_take(k, KV_STATE);
        page_forget(k, KV_STATE, q->state); // rather than not go on, write over what the index has of it
        k->pool[KV_STATE].n_evicted++;
    }
    return q->state;
}

void states_append(kv *k, struct seq *q) {
    if (k->config.n_states == 0 || q->n_runs > 0) return;
    q->runs[q->n_runs++] = (struct run){.start = q->stored, .slot = first_slot(k, q)};
}

// The first place after `pos` where q's state is to be kept.
static int64_t next_place(const kv *k, const struct seq *q, int32_t pos) {
    const int64_t interval = k->config.state_interval;
    if (q->is_private) return INT64_MAX;
    const int64_t next = interval ? (pos / interval + 1) * interval : INT64_MAX;
    return q->keep_at > pos && q->keep_at < next ? q->keep_at : next;
}

static void split_run(kv *k, struct seq *q) {
    int32_t n = 0, skip;
    for (int64_t at = q->stored; (at = next_place(k, q, (int32_t)at)) < q->len;) n++;
    skip = n - pages_available(&k->pool[KV_STATE]); // short of slots: those further on are worth more
    for (int64_t at = q->stored; (at = next_place(k, q, (int32_t)at)) < q->len; skip--)
        if (skip <= 0) q->runs[q->n_runs++] = (struct run){.start = (int32_t)at, .slot = page_take(k, KV_STATE)};
}

void kv_place_states(kv *k) {
    for (int32_t i = 0; i < k->n_dirty; i++) {
        struct seq *q = &k->seqs[k->dirty[i]];
        if (q->used && q->n_runs == 1) split_run(k, q);
    }
}

void states_keep_path(kv *k, struct seq *q, const int32_t *path, int32_t n) {
    if (k->config.n_states == 0) return;
    for (int32_t i = 0, start = q->len; i < n; i++) {
        const int32_t end = q->len + i + 1;
        if (i < n - 1 && end < next_place(k, q, start)) continue;
        q->runs[q->n_runs++] = (struct run){.start = start, .slot = q->node_states[path[i]]};
        page_hold(k, KV_STATE, q->node_states[path[i]]);
        start = end;
    }
}

// Keeping.

void states_give(kv *k, const struct seq *q, int32_t n, int32_t slot) {
    if (q->is_private || slot == KV_NONE || slot_of(k, slot)->block != KV_NONE) return;
    const int32_t last = (n - 1) / KV_PAGE, name = n % KV_PAGE ? index_add_partial(k, q, n) : q->pages[0][last];
    struct block *b = &k->blocks[name];
    if (b->page[KV_STATE] != KV_NONE) return;
    b->page[KV_STATE] = slot;
    b->state_at = n - last * KV_PAGE;
    page_own(k, KV_STATE, slot, name);
}

void states_settle(kv *k, struct seq *q) {
    for (int32_t i = 0; i < q->n_runs; i++) {
        const struct run *r = &q->runs[i];
        const int32_t end = i + 1 < q->n_runs ? r[1].start : q->len;
        if (end == next_place(k, q, end - 1)) states_give(k, q, end, r->slot);
        if (r->slot == q->state) continue;
        release(k, q->state);
        q->state = r->slot;
    }
    q->n_runs = q->keep_at = 0;
}

void kv_snapshot(kv *k, kv_seq s) {
    struct seq *q = seq_at(k, s);
    if (k->config.n_states == 0 || q->len == 0) return;
    if (q->len > q->stored)
        q->keep_at = q->len;
    else
        states_give(k, q, q->len, q->state);
}

// Going back.

// At stored and later a sequence has what it needs; one that was just found in the index has nothing yet.
static bool has_state(const struct seq *q, int32_t n) {
    return n == 0 || (n >= q->stored && (q->state != KV_NONE || q->stored == 0));
}

// The largest m <= n after which a state of q's text was kept, and its slot; 0 and KV_NONE: there is none.
static int32_t find_state(const kv *k, const struct seq *q, int32_t n, int32_t *slot) {
    for (int32_t b = n_blocks(n) - 1; b >= 0 && !q->is_private; b--) {
        const int32_t most = n - b * KV_PAGE < KV_PAGE ? n - b * KV_PAGE : KV_PAGE;
        const int32_t found =
            index_find_state(k, b ? q->pages[0][b - 1] : KV_NONE, page_keys(k, q->pages[0][b]), most);
        if (found == KV_NONE) continue;
        *slot = k->blocks[found].page[KV_STATE];
        return b * KV_PAGE + k->blocks[found].state_at;
    }
    *slot = KV_NONE;
    return 0;
}

int32_t states_restorable(const kv *k, const struct seq *q, int32_t n) {
    int32_t slot;
    return k->config.n_states == 0 || has_state(q, n) ? n : find_state(k, q, n, &slot);
}

void states_cut(kv *k, struct seq *q, int32_t len) {
    if (k->config.n_states == 0) return;
    if (q->keep_at > len) q->keep_at = 0;
    for (; q->n_runs > 0 && q->runs[q->n_runs - 1].start >= len; q->n_runs--)
        if (q->runs[q->n_runs - 1].slot != q->state) release(k, q->runs[q->n_runs - 1].slot);
    if (len >= q->stored && has_state(q, len)) return;
    int32_t slot = KV_NONE;
    const int32_t found = find_state(k, q, len, &slot);
    assert(found == len);
    (void)found;
    if (slot != KV_NONE) page_hold(k, KV_STATE, slot);
    release(k, q->state);
    q->state = slot;
}

void states_share(kv *k, struct seq *q) {
    if (q->state != KV_NONE) page_hold(k, KV_STATE, q->state);
}

// Reading.

int32_t kv_seq_state(const kv *k, kv_seq s, int32_t n) {
    const struct seq *q = seq_at(k, s);
    assert(n >= q->stored && n <= q->len);
    int32_t i = q->n_runs;
    while (i > 0 && q->runs[i - 1].start >= n) i--;
    return i > 0 ? q->runs[i - 1].slot : q->state;
}

int32_t kv_scratch_state(const kv *k, kv_seq s, int32_t node) {
    const struct seq *q = seq_at(k, s);
    assert(node >= 0 && node < q->n_nodes);
    return k->config.n_states ? q->node_states[node] : KV_NONE;
}
