// tokenizer/merger.c - a linked list of symbols and a heap of pairs that may be joined.
#include "tokenizer/merger.h"
#include "base/checked.h"
#include "base/mem.h"
#include "tokenizer/windows.h"
#include <assert.h>

struct merge_candidate {
    uint64_t order; // rank, then index of the left symbol: smallest first
    uint32_t n;     // length of both in bytes; if it differs later, one of them has changed
    int32_t id;
};

// A 4-ary heap: half as deep as a binary one, and siblings share a cache line.
enum { N_CHILDREN = 4 };

static void sift_down(struct merge_candidate *heap, size_t n, size_t i) {
    const struct merge_candidate c = heap[i];
    for (size_t first; (first = N_CHILDREN * i + 1) < n;) {
        const size_t end = first + N_CHILDREN < n ? first + N_CHILDREN : n;
        size_t least = first;
        for (size_t k = first + 1; k < end; k++)
            if (heap[k].order < heap[least].order) least = k;
        if (c.order <= heap[least].order) break;
        heap[i] = heap[least];
        i = least;
    }
    heap[i] = c;
}

static void sift_up(struct merge_candidate *heap, size_t i) {
    const struct merge_candidate c = heap[i];
    for (; i > 0 && c.order < heap[(i - 1) / N_CHILDREN].order; i = (i - 1) / N_CHILDREN)
        heap[i] = heap[(i - 1) / N_CHILDREN];
    heap[i] = c;
}

static struct merge_candidate pop(struct merger *m) {
    const struct merge_candidate top = m->heap[0];
    m->heap[0] = m->heap[--m->n_heap];
    if (m->n_heap > 1) sift_down(m->heap, m->n_heap, 0);
    return top;
}

// Appends the pair that begins at symbol `left` if a rule joins it. The caller restores the heap's order.
static bool append_pair(struct merger *m, int32_t left, const char *word, merge_rule rule, const void *rules) {
    if (left < 0 || m->symbols[left].next < 0) return false;
    const struct merge_symbol *const l = &m->symbols[left], *const r = &m->symbols[l->next];
    uint32_t rank = 0;
    int32_t id = -1;
    if (!rule(rules, word, l, r, &rank, &id)) return false;
    m->heap[m->n_heap++] = (struct merge_candidate){(uint64_t)rank << 32 | (uint32_t)left, l->n + r->n, id};
    return true;
}

static void free_room(struct merger *m) {
    mem_free(m->symbols);
    mem_free(m->heap);
    *m = (struct merger){.windows = m->windows};
}

bool merger_begin(struct merger *m, size_t n) {
    m->n_symbols = 0;
    m->n_heap = 0;
    if (n <= m->cap) return true;
    size_t cap = 0, symbol_bytes = 0, heap_bytes = 0;
    // Each join removes one pair from the heap and adds at most two, and there are fewer joins than symbols.
    if (!size_add(n, n / 2 + 16, &cap) || !size_mul(cap, sizeof *m->symbols, &symbol_bytes) ||
        !size_mul(2 * cap, sizeof *m->heap, &heap_bytes))
        return false;
    free_room(m);
    m->symbols = mem_alloc(symbol_bytes);
    m->heap = mem_alloc(heap_bytes);
    if (!m->symbols || !m->heap) {
        free_room(m);
        return false;
    }
    m->cap = cap;
    return true;
}

void merger_add(struct merger *m, uint32_t pos, uint32_t n, int32_t id) {
    assert(m->n_symbols < m->cap && n > 0);
    const int32_t i = (int32_t)m->n_symbols++;
    m->symbols[i] = (struct merge_symbol){.pos = pos, .n = n, .id = id, .prev = i - 1, .next = -1};
    if (i > 0) m->symbols[i - 1].next = i;
}

// A candidate is stale if either symbol has grown or was joined since: boundaries only disappear,
// so the length of both tells.
static bool is_stale(const struct merger *m, int32_t left, uint32_t n) {
    const struct merge_symbol *const l = &m->symbols[left];
    return l->n == 0 || l->next < 0 || l->n + m->symbols[l->next].n != n;
}

static void join(struct merger *m, int32_t left, int32_t id) {
    struct merge_symbol *const l = &m->symbols[left], *const r = &m->symbols[l->next];
    l->n += r->n;
    l->id = id;
    r->n = 0;
    l->next = r->next;
    if (r->next >= 0) m->symbols[r->next].prev = left;
}

void merger_run(struct merger *m, const char *word, merge_rule rule, const void *rules) {
    for (size_t i = 0; i + 1 < m->n_symbols; i++) append_pair(m, (int32_t)i, word, rule, rules);
    for (size_t i = m->n_heap / N_CHILDREN + 1; i-- > 0;) sift_down(m->heap, m->n_heap, i);
    while (m->n_heap > 0) {
        const struct merge_candidate c = pop(m);
        const int32_t left = (int32_t)(uint32_t)c.order;
        if (is_stale(m, left, c.n)) continue;
        join(m, left, c.id);
        if (append_pair(m, m->symbols[left].prev, word, rule, rules)) sift_up(m->heap, m->n_heap - 1);
        if (append_pair(m, left, word, rule, rules)) sift_up(m->heap, m->n_heap - 1);
    }
}

void merger_free(struct merger *m) {
    windows_free(m->windows);
    m->windows = NULL;
    free_room(m);
}
