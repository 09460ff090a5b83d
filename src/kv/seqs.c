// kv/seqs.c - sequences: growing, sharing, cutting and freeing their lists of pages.
#include "kv/kv_private.h"
#include <assert.h>
#include <string.h>

struct seq *seq_at(const kv *k, kv_seq s) {
    assert(s >= 0 && s < k->config.max_seqs && k->seqs[s].used);
    return &k->seqs[s];
}

rn_status kv_seq_new(kv *k, kv_seq *out, rn_error *err) {
    *out = KV_NONE;
    if (k->n_spare == 0) return fail(err, RN_E_LIMIT, "kv: all %d sequences are in use", k->config.max_seqs);
    const kv_seq s = k->spare[--k->n_spare];
    struct seq *q = &k->seqs[s];
    q->used = true;
    q->is_private = false;
    q->len = q->stored = q->n_nodes = q->n_runs = q->keep_at = 0;
    q->state = KV_NONE;
    memset(q->first, 0, sizeof q->first);
    *out = s;
    return RN_OK;
}

void kv_seq_free(kv *k, kv_seq s) {
    struct seq *q = seq_at(k, s);
    kv_scratch_cut(k, s, 0);
    seq_cut(k, q, q->stored); // rows whose keys and values were never stored must not be found
    if (q->stored % KV_PAGE != 0 && !q->is_private) index_add_partial(k, q, q->stored);
    states_give(k, q, q->stored, q->state);
    seq_cut(k, q, 0);
    q->used = false;
    k->spare[k->n_spare++] = s;
}

static void mark_dirty(kv *k, struct seq *q) {
    if (q->dirty) return;
    q->dirty = true;
    k->dirty[k->n_dirty++] = (int32_t)(q - k->seqs);
}

rn_status kv_seq_fork(kv *k, kv_seq s, kv_seq *out, rn_error *err) {
    const struct seq *from = seq_at(k, s);
    *out = KV_NONE;
    if (k->config.n_states > 0 && from->stored < from->len)
        return fail(err, RN_E_STATE, "kv: sequence %d: %d rows were appended and not committed", s,
                    from->len - from->stored);
    const rn_status st = kv_seq_new(k, out, err);
    if (st != RN_OK) return st;
    struct seq *to = seq_at(k, *out);
    to->len = from->len;
    to->stored = from->stored;
    to->is_private = from->is_private;
    to->state = from->state;
    states_share(k, to);
    if (to->stored < to->len) mark_dirty(k, to);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        to->first[g] = from->first[g];
        memcpy(to->pages[g], from->pages[g], (size_t)n_blocks(to->len) * sizeof *to->pages[g]);
        for (int32_t b = to->first[g]; b < n_blocks(to->len); b++) page_hold(k, g, to->pages[g][b]);
    }
    return RN_OK;
}

int32_t kv_seq_len(const kv *k, kv_seq s) {
    return s >= 0 && s < k->config.max_seqs && k->seqs[s].used ? k->seqs[s].len : KV_NONE;
}

// Growing.

bool seq_tail_is_shared(const kv *k, const struct seq *q, int32_t group) {
    if (q->len % KV_PAGE == 0) return false;
    const struct page *p = &k->pool[group].pages[q->pages[group][q->len / KV_PAGE]];
    return p->refs > 1 || p->block != KV_NONE;
}

// Pages change in all groups or in none: a block's are shared together.
rn_status seq_own_tail(kv *k, struct seq *q, rn_error *err) {
    const int32_t b = q->len / KV_PAGE;
    int32_t own[KV_MAX_GROUPS];
    rn_status st = RN_OK;
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        own[g] = KV_NONE;
        if (st != RN_OK || !seq_tail_is_shared(k, q, g)) continue;
        own[g] = page_take(k, g);
        const struct kv_copy tail = {.group = g, .src = q->pages[g][b], .dst = own[g], .n = q->len % KV_PAGE};
        st = pages_copy(k, &tail, err);
    }
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        if (own[g] == KV_NONE) continue;
        page_release(k, g, st == RN_OK ? q->pages[g][b] : own[g]);
        if (st == RN_OK) q->pages[g][b] = own[g];
    }
    return st;
}

static int32_t pages_for(const kv *k, const struct seq *q, int32_t group, int32_t n) {
    return n_blocks(q->len + n) - n_blocks(q->len) + (n > 0 && seq_tail_is_shared(k, q, group));
}

static rn_status check_room(const kv *k, kv_seq s, int32_t n, rn_error *err) {
    const struct seq *q = seq_at(k, s);
    if (n > k->config.n_ctx - q->len)
        return fail(err, RN_E_LIMIT, "kv: sequence %d: %d positions and %d more pass the limit of %d", s, q->len, n,
                    k->config.n_ctx);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const int32_t want = pages_for(k, q, g, n), have = pages_available(&k->pool[g]);
        if (want > have)
            return fail(err, RN_E_LIMIT,
                        "kv: sequence %d: %d more positions need %d pages of group %d, %d of %d are available", s, n,
                        want, g, have, k->pool[g].n_pages);
    }
    if (n > 0 && !states_have_room(k, q))
        return fail(err, RN_E_LIMIT, "kv: sequence %d: its state needs a slot, none of %d is available", s,
                    k->config.n_states);
    return RN_OK;
}

rn_status kv_append(kv *k, kv_seq s, const uint64_t *keys, int32_t n, rn_error *err) {
    struct seq *q = seq_at(k, s);
    assert(n >= 0);
    if (q->n_nodes > 0)
        return fail(err, RN_E_STATE, "kv: sequence %d: has a scratch tree of %d nodes", s, q->n_nodes);
    rn_status st = check_room(k, s, n, err);
    if (st == RN_OK && n > 0) st = seq_own_tail(k, q, err);
    if (st != RN_OK || n == 0) return st;
    states_append(k, q);
    for (int32_t g = 0; g < k->config.n_groups; g++)
        for (int32_t b = n_blocks(q->len); b < n_blocks(q->len + n); b++) q->pages[g][b] = page_take(k, g);
    for (int32_t i = 0; i < n; i++, q->len++) page_keys(k, q->pages[0][q->len / KV_PAGE])[q->len % KV_PAGE] = keys[i];
    mark_dirty(k, q);
    return RN_OK;
}

void seq_settle(kv *k, struct seq *q) {
    for (int32_t b = q->stored / KV_PAGE; b < q->len / KV_PAGE && !q->is_private; b++) index_add_full(k, q, b);
    states_settle(k, q);
    q->stored = q->len;
    for (int32_t g = 1; g < k->config.n_groups; g++)
        for (; q->first[g] < first_needed(&k->pool[g], q->len); q->first[g]++) {
            page_release(k, g, q->pages[g][q->first[g]]);
            q->pages[g][q->first[g]] = KV_NONE;
        }
}

void kv_commit(kv *k) {
    for (int32_t i = 0; i < k->n_dirty; i++) {
        struct seq *q = &k->seqs[k->dirty[i]];
        q->dirty = false;
        if (q->used) seq_settle(k, q);
    }
    k->n_dirty = 0;
}

// Cutting.

int32_t seq_page_or_cached(const kv *k, const struct seq *q, int32_t group, int32_t block) {
    const int32_t held = q->pages[group][block], name = q->pages[0][block];
    if (held != KV_NONE) return held;
    return k->pool[0].pages[name].block == name ? k->blocks[name].page[group] : KV_NONE;
}

int32_t seq_windows_restorable(const kv *k, const struct seq *q, int32_t n) {
    for (int32_t g = 1; g < k->config.n_groups; g++)
        for (int32_t b = n_blocks(n) - 1; b >= first_needed(&k->pool[g], n); b--)
            if (seq_page_or_cached(k, q, g, b) == KV_NONE) {
                // Every length inside or beyond block b up to n needs it: go on before it, with all groups again.
                n = b * KV_PAGE;
                g = 0;
                break;
            }
    return n;
}

int32_t seq_restorable(const kv *k, const struct seq *q, int32_t n) {
    for (int32_t before = -1; before != n;) { // what the one can restore the other may not
        before = n;
        n = states_restorable(k, q, seq_windows_restorable(k, q, n));
    }
    return n;
}

void seq_cut(kv *k, struct seq *q, int32_t len) {
    states_cut(k, q, len);
    const int32_t n_old = n_blocks(q->len), n_new = n_blocks(len);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const int32_t held = q->first[g], needed = first_needed(&k->pool[g], len);
        for (int32_t b = n_old - 1; b >= n_new && b >= held; b--) page_release(k, g, q->pages[g][b]);
        if (needed >= held) continue;
        // The shorter window reaches back to what only the index has.
        for (int32_t b = needed; b < n_new && b < held; b++) {
            q->pages[g][b] = seq_page_or_cached(k, q, g, b);
            page_hold(k, g, q->pages[g][b]);
        }
        q->first[g] = needed;
    }
    q->len = len;
    if (q->stored > len) q->stored = len;
    if (len == 0) q->is_private = false; // what comes from elsewhere is gone
}

int32_t kv_truncate(kv *k, kv_seq s, int32_t n) {
    struct seq *q = seq_at(k, s);
    assert(n >= 0);
    kv_scratch_cut(k, s, 0);
    if (n < q->len) seq_cut(k, q, seq_restorable(k, q, n));
    return q->len;
}

// Reading.

int32_t kv_seq_page(const kv *k, kv_seq s, int32_t group, int32_t block) {
    const struct seq *q = seq_at(k, s);
    assert(group >= 0 && group < k->config.n_groups && block >= 0 && block < n_blocks(q->len));
    return q->pages[group][block];
}

struct kv_slot kv_seq_slot(const kv *k, kv_seq s, int32_t group, int32_t pos) {
    return (struct kv_slot){.page = kv_seq_page(k, s, group, pos / KV_PAGE), .slot = pos % KV_PAGE};
}

uint64_t kv_seq_key(const kv *k, kv_seq s, int32_t pos) {
    return page_keys(k, kv_seq_page(k, s, 0, pos / KV_PAGE))[pos % KV_PAGE];
}
