// kv/check.c - recounts all references from scratch and compares: for tests, after every operation.
#include "base/mem.h"
#include "kv/kv_private.h"
#include <string.h>

struct audit {
    const kv *k;
    int32_t *refs[KV_N_POOLS]; // [n_pages] holders counted again
    int32_t
        *place[KV_N_POOLS]; // [n_pages] 1-based place in the list of cached pages, 0: not there, -1: in the free list
    rn_error *err;
};

#define REQUIRE(ok, ...)                                                                                             \
    do {                                                                                                             \
        if (!(ok)) return fail(a->err, RN_E_INTERNAL, "kv: " __VA_ARGS__);                                           \
    } while (0)

static rn_status list_pages(const struct audit *a, int32_t g) {
    const struct pool *pool = &a->k->pool[g];
    int32_t n = 0;
    for (int32_t p = pool->free; p != KV_NONE; p = pool->pages[p].next, n++) {
        REQUIRE(n < pool->n_free && a->place[g][p] == 0, "group %d: page %d is twice in the free list", g, p);
        a->place[g][p] = -1;
    }
    REQUIRE(n == pool->n_free, "group %d: %d free pages, %d counted", g, pool->n_free, n);
    n = 0;
    for (int32_t p = pool->oldest, prev = KV_NONE; p != KV_NONE; prev = p, p = pool->pages[p].next) {
        REQUIRE(n < pool->n_cached && a->place[g][p] == 0, "group %d: page %d is twice in the cached list", g, p);
        REQUIRE(pool->pages[p].prev == prev, "group %d: page %d: wrong neighbour in the cached list", g, p);
        a->place[g][p] = ++n;
        REQUIRE(pool->pages[p].next != KV_NONE || pool->newest == p, "group %d: the cached list ends at page %d", g,
                p);
    }
    REQUIRE(n == pool->n_cached, "group %d: %d cached pages, %d counted", g, pool->n_cached, n);
    return RN_OK;
}

static rn_status count_block(const struct audit *a, const struct seq *q, int32_t g, int32_t b) {
    const kv *k = a->k;
    const int32_t p = q->pages[g][b], name = q->pages[0][b];
    const int s = (int)(q - k->seqs);
    if (b < q->first[g]) {
        REQUIRE(p == KV_NONE, "sequence %d: group %d: block %d has left the window and has page %d", s, g, b, p);
        return RN_OK;
    }
    REQUIRE(p >= 0 && p < k->pool[g].n_pages, "sequence %d: group %d: block %d has page %d", s, g, b, p);
    a->refs[g][p]++;
    const int32_t owner = k->pool[g].pages[p].block;
    REQUIRE(owner == (k->pool[0].pages[name].block == name ? name : KV_NONE),
            "sequence %d: group %d: block %d lies in page %d of index block %d, its keys in page %d", s, g, b, p,
            owner, name);
    return RN_OK;
}

static rn_status count_states(const struct audit *a, const struct seq *q) {
    const kv *k = a->k;
    const int s = (int)(q - k->seqs);
    int32_t *refs = a->refs[KV_STATE];
    REQUIRE((q->state != KV_NONE) == (q->stored > 0), "sequence %d: slot %d has the state after %d positions", s,
            q->state, q->stored);
    REQUIRE((q->n_runs > 0) == (q->stored < q->len), "sequence %d: %d runs for %d promised rows", s, q->n_runs,
            q->len - q->stored);
    REQUIRE(q->keep_at == 0 || (q->keep_at > q->stored && q->keep_at <= q->len),
            "sequence %d: a state to keep after position %d", s, q->keep_at);
    if (q->state != KV_NONE) refs[q->state]++;
    for (int32_t i = 0; i < q->n_runs; i++) {
        const struct run *r = &q->runs[i];
        REQUIRE(i ? r->start > r[-1].start && r->start < q->len : r->start == q->stored,
                "sequence %d: run %d begins at position %d", s, i, r->start);
        if (i > 0 || r->slot != q->state) refs[r->slot]++;
        REQUIRE(k->pool[KV_STATE].pages[r->slot].refs == 1 && k->pool[KV_STATE].pages[r->slot].block == KV_NONE,
                "sequence %d: run %d would write slot %d, which others have", s, i, r->slot);
    }
    for (int32_t i = 0; i < q->n_nodes; i++) refs[q->node_states[i]]++;
    for (int32_t i = 0; i < q->n_nodes; i++)
        REQUIRE(k->pool[KV_STATE].pages[q->node_states[i]].refs == 1,
                "sequence %d: scratch node %d: slot %d is shared", s, i, q->node_states[i]);
    return RN_OK;
}

static rn_status count_seq(const struct audit *a, const struct seq *q) {
    const kv *k = a->k;
    const int s = (int)(q - k->seqs);
    rn_status st = RN_OK;
    REQUIRE(q->len <= k->config.n_ctx && q->stored <= q->len && (q->dirty || q->stored == q->len),
            "sequence %d: length %d, %d stored", s, q->len, q->stored);
    for (int32_t g = 0; g < k->config.n_groups; g++) {
        REQUIRE(q->first[g] <= first_needed(&k->pool[g], q->stored),
                "sequence %d: group %d lacks pages before block %d", s, g, q->first[g]);
        for (int32_t b = 0; st == RN_OK && b < n_blocks(q->len); b++) st = count_block(a, q, g, b);
        for (int32_t p = 0; p < n_blocks(q->n_nodes); p++) a->refs[g][q->node_pages[g][p]]++;
        for (int32_t p = 0; p < n_blocks(q->n_nodes); p++)
            REQUIRE(k->pool[g].pages[q->node_pages[g][p]].refs == 1, "sequence %d: scratch page %d is shared", s, p);
    }
    for (int32_t b = 0; st == RN_OK && b < n_blocks(q->len) && q->is_private; b++)
        REQUIRE(k->pool[0].pages[q->pages[0][b]].block == KV_NONE, "private sequence %d: block %d is in the index", s,
                b);
    REQUIRE(!q->is_private || q->state == KV_NONE || k->pool[KV_STATE].pages[q->state].block == KV_NONE,
            "private sequence %d: its state is in the index", s);
    for (int32_t b = 0; st == RN_OK && b < q->stored / KV_PAGE && !q->is_private; b++) {
        const int32_t name = q->pages[0][b], parent = b ? q->pages[0][b - 1] : KV_NONE;
        REQUIRE(k->pool[0].pages[name].block == name && k->blocks[name].n == KV_PAGE &&
                    k->blocks[name].parent == parent,
                "sequence %d: full block %d (page %d) is not in the index", s, b, name);
    }
    for (int32_t i = 0; i < q->n_nodes; i++) {
        const struct node *n = &q->nodes[i];
        REQUIRE(n->parent < i && n->depth == (n->parent == KV_NONE ? 1 : q->nodes[n->parent].depth + 1),
                "sequence %d: scratch node %d: parent %d, depth %d", s, i, n->parent, n->depth);
    }
    return st == RN_OK && k->config.n_states > 0 ? count_states(a, q) : st;
}

// Is block b in the list of its parent's children, once, with sound neighbours?
static rn_status check_siblings(const struct audit *a, int32_t b) {
    const kv *k = a->k;
    const int32_t parent = k->blocks[b].parent;
    int32_t found = 0;
    for (int32_t c = parent == KV_NONE ? k->first_text : k->blocks[parent].child, prev = KV_NONE; c != KV_NONE;
         prev = c, c = k->blocks[c].next) {
        REQUIRE(k->blocks[c].prev == prev && k->blocks[c].parent == parent,
                "block %d: wrong links among its siblings", c);
        found += c == b;
        REQUIRE(c == b || k->blocks[c].n < KV_PAGE || k->blocks[b].n < KV_PAGE ||
                    memcmp(page_keys(k, c), page_keys(k, b), KV_PAGE * sizeof *k->keys) != 0,
                "blocks %d and %d are equal", b, c);
    }
    REQUIRE(found == 1, "block %d is %d times among its parent's children", b, found);
    return RN_OK;
}

static rn_status check_block(const struct audit *a, int32_t b) {
    const kv *k = a->k;
    const struct block *x = &k->blocks[b];
    REQUIRE(x->page[0] == b && x->n >= 1 && x->n <= KV_PAGE, "block %d: page %d, %d positions", b, x->page[0], x->n);
    REQUIRE(x->n < KV_PAGE || index_find(k, x->parent, page_keys(k, b)) == b, "block %d is not found by its keys", b);
    REQUIRE(x->n == KV_PAGE || x->child == KV_NONE, "block %d is not full and has a child", b);
    for (int32_t g = 0; g < k->config.n_groups; g++)
        REQUIRE(x->page[g] == KV_NONE || k->pool[g].pages[x->page[g]].block == b,
                "block %d: group %d: page %d is not its own", b, g, x->page[g]);
    const int32_t state = x->page[KV_STATE];
    REQUIRE(state == KV_NONE ||
                (k->pool[KV_STATE].pages[state].block == b && x->state_at >= 1 && x->state_at <= x->n),
            "block %d: slot %d with the state after %d of %d positions is not its own", b, state, x->state_at, x->n);
    if (x->parent != KV_NONE) {
        const struct block *parent = &k->blocks[x->parent];
        REQUIRE(k->pool[0].pages[x->parent].block == x->parent && parent->n == KV_PAGE,
                "block %d: parent %d is no full block", b, x->parent);
        REQUIRE(k->pool[0].pages[b].refs <= k->pool[0].pages[x->parent].refs, "block %d is held, parent %d less so",
                b, x->parent);
        const int32_t at = a->place[0][b], parent_at = a->place[0][x->parent];
        REQUIRE(parent_at == 0 || at < parent_at, "block %d would be evicted after its parent %d", b, x->parent);
    }
    return check_siblings(a, b);
}

static rn_status check_pages(const struct audit *a, int32_t g) {
    const struct pool *pool = &a->k->pool[g];
    rn_status st = RN_OK;
    for (int32_t p = 0; st == RN_OK && p < pool->n_pages; p++) {
        const struct page *page = &pool->pages[p];
        const int32_t place = a->place[g][p], want = page->refs > 0 ? 0 : page->block == KV_NONE ? -1 : 1;
        REQUIRE(page->refs == a->refs[g][p], "group %d: page %d has %d holders, %d counted", g, p, page->refs,
                a->refs[g][p]);
        REQUIRE((place > 0) - (place < 0) == want, "group %d: page %d (%d holders, block %d) is in the wrong list", g,
                p, page->refs, page->block);
        REQUIRE(page->block == KV_NONE || a->k->blocks[page->block].page[g] == p,
                "group %d: page %d: block %d does not know it", g, p, page->block);
        if (g == 0 && page->block != KV_NONE) st = check_block(a, p);
    }
    return st;
}

static rn_status audit_all(const struct audit *a) {
    const kv *k = a->k;
    int32_t n_used = 0;
    rn_status st = RN_OK;
    for (int32_t g = 0; st == RN_OK && g < KV_N_POOLS; g++) st = list_pages(a, g);
    for (int32_t s = 0; st == RN_OK && s < k->config.max_seqs; s++) {
        n_used += k->seqs[s].used;
        if (k->seqs[s].used) st = count_seq(a, &k->seqs[s]);
    }
    if (st != RN_OK) return st;
    REQUIRE(n_used + k->n_spare == k->config.max_seqs, "%d sequences in use, %d spare, of %d", n_used, k->n_spare,
            k->config.max_seqs);
    for (int32_t g = 0; st == RN_OK && g < KV_N_POOLS; g++) st = check_pages(a, g);
    return st;
}

rn_status kv_check(const kv *k, rn_error *err) {
    struct audit a = {.k = k, .err = err};
    rn_status st = RN_OK;
    for (int32_t g = 0; g < KV_N_POOLS; g++) {
        a.refs[g] = mem_calloc((size_t)k->pool[g].n_pages, sizeof *a.refs[g]);
        a.place[g] = mem_calloc((size_t)k->pool[g].n_pages, sizeof *a.place[g]);
        if (!a.refs[g] || !a.place[g]) st = fail(err, RN_E_NOMEM, "kv: out of memory for a recount");
    }
    if (st == RN_OK) st = audit_all(&a);
    for (int32_t g = 0; g < KV_N_POOLS; g++) {
        mem_free(a.refs[g]);
        mem_free(a.place[g]);
    }
    return st;
}
