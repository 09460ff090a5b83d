// kv/scratch.c - the tree of tries below a sequence's last position, and committing one of its paths.
//
// Nodes lie packed in private pages in the order they came: node i in slot i % 64 of scratch page i / 64, in every
// group. With states each node has a slot of its own.
#include "kv/kv_private.h"
#include <assert.h>

// Pages that the first node takes beside its own: a copy of the last page, if that is shared, which a path will be written into.
static int32_t tail_pages(const kv *k, const struct seq *q, int32_t group) {
    return q->n_nodes == 0 && seq_tail_is_shared(k, q, group);
}

rn_status kv_scratch_add(kv *k, kv_seq s, int32_t parent, uint64_t key, int32_t *node, rn_error *err) {
    struct seq *q = seq_at(k, s);
    if (parent < KV_NONE || parent >= q->n_nodes)
        return fail(err, RN_E_ARG, "kv: sequence %d: parent %d is no scratch node, there are %d", s, parent,
                    q->n_nodes);
    if (q->n_nodes == k->config.max_scratch)
        return fail(err, RN_E_LIMIT, "kv: sequence %d: the scratch tree holds %d nodes, its limit", s, q->n_nodes);
    const int32_t depth = parent == KV_NONE ? 1 : q->nodes[parent].depth + 1;
    if (depth > k->config.n_ctx - q->len)
        return fail(err, RN_E_LIMIT, "kv: sequence %d: %d positions and a scratch path of %d pass the limit of %d", s,
                    q->len, depth, k->config.n_ctx);
    const int32_t page = q->n_nodes / KV_PAGE, slot = q->n_nodes % KV_PAGE;
    for (int32_t g = 0; slot == 0 && g < k->config.n_groups; g++)
        if (pages_available(&k->pool[g]) < 1 + tail_pages(k, q, g))
            return fail(err, RN_E_LIMIT,
                        "kv: sequence %d: scratch node %d needs %d pages of group %d, %d of %d are available", s,
                        q->n_nodes, 1 + tail_pages(k, q, g), g, pages_available(&k->pool[g]), k->pool[g].n_pages);
    if (k->config.n_states > 0 && pages_available(&k->pool[KV_STATE]) == 0)
        return fail(err, RN_E_LIMIT,
                    "kv: sequence %d: scratch node %d needs a slot of state, none of %d is available", s, q->n_nodes,
                    k->config.n_states);
    // Now, and not when a path is kept: here a lack of pages is one that the caller can wait for.
    const rn_status st = q->n_nodes == 0 ? seq_own_tail(k, q, err) : RN_OK;
    if (st != RN_OK) return st;
    for (int32_t g = 0; slot == 0 && g < k->config.n_groups; g++) q->node_pages[g][page] = page_take(k, g);
    if (k->config.n_states > 0) q->node_states[q->n_nodes] = page_take(k, KV_STATE);
    page_keys(k, q->node_pages[0][page])[slot] = key;
    q->nodes[q->n_nodes] = (struct node){.parent = parent, .depth = depth};
    *node = q->n_nodes++;
    return RN_OK;
}

int32_t kv_scratch_room(const kv *k, kv_seq s, const char **why) {
    const struct seq *q = seq_at(k, s);
    const char *reason = "nodes";
    int32_t room = k->config.max_scratch - q->n_nodes;
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        const int64_t begun = n_blocks(q->n_nodes) * (int64_t)KV_PAGE - q->n_nodes;
        const int64_t n_pages = pages_available(&k->pool[g]) - tail_pages(k, q, g);
        const int64_t n = begun + (n_pages > 0 ? n_pages : 0) * (int64_t)KV_PAGE;
        if (n < room) room = (int32_t)n, reason = "pages";
    }
    if (k->config.n_states > 0 && pages_available(&k->pool[KV_STATE]) < room)
        room = pages_available(&k->pool[KV_STATE]), reason = "states";
    if (q->len == k->config.n_ctx) room = 0, reason = "context";
    if (why) *why = reason;
    return room;
}

bool kv_has_spare_state(const kv *k) {
    const struct pool *const states = &k->pool[KV_STATE];
    return k->config.n_states == 0 || states->n_free > 0 || 2 * states->n_cached > k->config.n_states;
}

void kv_scratch_cut(kv *k, kv_seq s, int32_t n) {
    struct seq *q = seq_at(k, s);
    assert(n >= 0);
    if (n >= q->n_nodes) return;
    for (int32_t i = n; k->config.n_states > 0 && i < q->n_nodes; i++) page_release(k, KV_STATE, q->node_states[i]);
    for (int32_t g = 0; g < k->config.n_groups; g++)
        for (int32_t p = n_blocks(n); p < n_blocks(q->n_nodes); p++) page_release(k, g, q->node_pages[g][p]);
    q->n_nodes = n;
}

int32_t kv_scratch_len(const kv *k, kv_seq s) { return seq_at(k, s)->n_nodes; }

static const struct node *node_at(const kv *k, kv_seq s, int32_t node) {
    const struct seq *q = seq_at(k, s);
    assert(node >= 0 && node < q->n_nodes);
    return &q->nodes[node];
}

int32_t kv_scratch_parent(const kv *k, kv_seq s, int32_t node) { return node_at(k, s, node)->parent; }
int32_t kv_scratch_depth(const kv *k, kv_seq s, int32_t node) { return node_at(k, s, node)->depth; }

struct kv_slot kv_scratch_slot(const kv *k, kv_seq s, int32_t node, int32_t group) {
    const struct seq *q = seq_at(k, s);
    assert(node >= 0 && node < q->n_nodes && group >= 0 && group < k->config.n_groups);
    return (struct kv_slot){.page = q->node_pages[group][node / KV_PAGE], .slot = node % KV_PAGE};
}

static rn_status check_path(const kv *k, kv_seq s, const int32_t *path, int32_t n, rn_error *err) {
    const struct seq *q = seq_at(k, s);
    for (int32_t i = 0; i < n; i++) {
        const int32_t parent = i ? path[i - 1] : KV_NONE;
        if (path[i] < 0 || path[i] >= q->n_nodes)
            return fail(err, RN_E_ARG, "kv: sequence %d: path[%d] = %d is no scratch node, there are %d", s, i,
                        path[i], q->n_nodes);
        if (q->nodes[path[i]].parent != parent)
            return fail(err, RN_E_ARG, "kv: sequence %d: path[%d] = %d has parent %d, not %d", s, i, path[i],
                        q->nodes[path[i]].parent, parent);
    }
    return RN_OK;
}

static int32_t min(int32_t a, int32_t b) { return a < b ? a : b; }

// Moves path[0..n) of one group to the positions from q->len on. The blocks after the present last one are the
// scratch pages themselves, in order: row i goes to scratch slot i - (room in the last block) <= i, and path[i] >=
// i since a child comes after its parent, so that no row is overwritten before it has moved, and a chain that
// starts a block does not move at all.
static rn_status move_path(kv *k, const struct seq *q, int32_t g, const int32_t *path, int32_t n, rn_error *err) {
    const int32_t n_old = n_blocks(q->len);
    for (int32_t i = 0, run; i < n; i += run) {
        const int32_t pos = q->len + i, block = pos / KV_PAGE;
        const struct kv_copy c = {
            .group = g,
            .src = q->node_pages[g][path[i] / KV_PAGE],
            .slot_src = path[i] % KV_PAGE,
            .dst = block < n_old ? q->pages[g][block] : q->node_pages[g][block - n_old],
            .slot_dst = pos % KV_PAGE,
        };
        int32_t most = min(n - i, KV_PAGE - (c.slot_src > c.slot_dst ? c.slot_src : c.slot_dst));
        const bool moves = c.src != c.dst || c.slot_src != c.slot_dst;
        if (moves && c.src == c.dst) most = min(most, c.slot_src - c.slot_dst); // a copy does not overlap itself
        for (run = 1; run < most && path[i + run] == path[i] + run;) run++;
        struct kv_copy whole = c;
        whole.n = run;
        const rn_status st = moves ? pages_copy(k, &whole, err) : RN_OK;
        if (st != RN_OK) return st;
    }
    return RN_OK;
}

// The first scratch pages become the sequence's blocks that begin among its next n positions; the rest of the tree
// goes.
static void adopt_pages(kv *k, kv_seq s, int32_t n) {
    struct seq *q = seq_at(k, s);
    const int32_t n_old = n_blocks(q->len), n_adopted = n_blocks(q->len + n) - n_old, n_all = n_blocks(q->n_nodes);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        for (int32_t p = 0; p < n_adopted; p++) q->pages[g][n_old + p] = q->node_pages[g][p];
        for (int32_t p = n_adopted; p < n_all; p++) page_release(k, g, q->node_pages[g][p]);
    }
    for (int32_t i = 0; k->config.n_states > 0 && i < q->n_nodes; i++) page_release(k, KV_STATE, q->node_states[i]);
    q->n_nodes = 0;
}

rn_status kv_keep(kv *k, kv_seq s, const int32_t *path, int32_t n, rn_error *err) {
    struct seq *q = seq_at(k, s);
    rn_status st = check_path(k, s, path, n, err);
    if (st != RN_OK) return st;
    for (int32_t g = 0; n > 0 && g < k->config.n_groups; g++)
        if (seq_tail_is_shared(k, q, g) && pages_available(&k->pool[g]) == 0)
            return fail(err, RN_E_LIMIT,
                        "kv: sequence %d: the shared last page of group %d needs a copy, none of %d pages is "
                        "available",
                        s, g, k->pool[g].n_pages);
    if (n > 0 && k->config.n_states > 0 && q->stored < q->len)
        return fail(err, RN_E_STATE, "kv: sequence %d: %d rows were appended and not committed", s,
                    q->len - q->stored);
    if (n > 0) st = seq_own_tail(k, q, err);
    for (int32_t g = 0; st == RN_OK && g < k->config.n_groups; g++) st = move_path(k, q, g, path, n, err);
    if (st != RN_OK) { // rows of the tree may have been written over; none of the sequence's
        kv_scratch_cut(k, s, 0);
        return st;
    }
    states_keep_path(k, q, path, n);
    adopt_pages(k, s, n);
    const bool stored = q->stored == q->len;
    q->len += n;
    if (stored) seq_settle(k, q); // a path is made of rows that were stored
    return RN_OK;
}
