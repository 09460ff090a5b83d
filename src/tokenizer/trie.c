// tokenizer/trie.c - built breadth first from the sorted list, so that a node's children are
// contiguous and sorted by label.
#include "tokenizer/trie.h"
#include "base/checked.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

struct trie_node {
    uint32_t first; // child; while building: the first string below
    uint32_t n;     // children; while building: strings below
    int32_t id;
    uint8_t label;
};

static int by_spelling(const void *pa, const void *pb) {
    const struct spelling *a = pa, *b = pb;
    const int order = memcmp(a->text.s, b->text.s, a->text.n < b->text.n ? a->text.n : b->text.n);
    if (order != 0) return order;
    if (a->text.n != b->text.n) return a->text.n < b->text.n ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

// The number of nodes, one for each distinct prefix: each string adds those that it does not share
// with its predecessor.
static bool count_nodes(const struct spelling *list, uint32_t n, uint32_t *out) {
    size_t n_nodes = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct vocab_str s = list[i].text, before = i > 0 ? list[i - 1].text : (struct vocab_str){"", 0};
        uint32_t shared = 0;
        while (shared < s.n && shared < before.n && s.s[shared] == before.s[shared]) shared++;
        if (!size_add(n_nodes, s.n - shared, &n_nodes) || n_nodes > UINT32_MAX / 2) return false;
    }
    *out = (uint32_t)n_nodes;
    return true;
}

// Fills node `at`, whose strings share their first `depth` bytes: its id and its children.
static void expand(struct trie *t, uint32_t at, uint32_t depth, const struct spelling *list) {
    uint32_t i = t->nodes[at].first;
    const uint32_t end = i + t->nodes[at].n;
    t->nodes[at].first = t->n_nodes;
    t->nodes[at].n = 0;
    if (i < end && list[i].text.n == depth) t->nodes[at].id = list[i].id;
    while (i < end && list[i].text.n == depth) i++;
    while (i < end) {
        const uint8_t label = (uint8_t)list[i].text.s[depth];
        struct trie_node *const child = &t->nodes[t->n_nodes++];
        *child = (struct trie_node){.first = i, .id = -1, .label = label};
        while (i < end && (uint8_t)list[i].text.s[depth] == label) i++, child->n++;
        t->nodes[at].n++;
    }
}

bool trie_init(struct trie *t, struct spelling *list, uint32_t n) {
    uint32_t n_nodes = 0;
    *t = (struct trie){0};
    if (n == 0) return true;
    qsort(list, n, sizeof *list, by_spelling);
    if (!count_nodes(list, n, &n_nodes)) return false;
    t->nodes = mem_alloc((size_t)n_nodes * sizeof *t->nodes);
    if (!t->nodes) return false;
    t->nodes[TRIE_ROOT] = (struct trie_node){.n = n, .id = -1};
    t->n_nodes = 1;
    uint32_t at = 0;
    for (uint32_t depth = 0, end; at < t->n_nodes; depth++)
        for (end = t->n_nodes; at < end; at++) expand(t, at, depth, list);
    return true;
}

void trie_free(struct trie *t) {
    mem_free(t->nodes);
    *t = (struct trie){0};
}

uint32_t trie_step(const struct trie *t, uint32_t node, uint8_t byte) {
    if (t->n_nodes == 0) return TRIE_NONE;
    uint32_t lo = t->nodes[node].first, hi = lo + t->nodes[node].n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (t->nodes[mid].label == byte) return mid;
        if (t->nodes[mid].label < byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return TRIE_NONE;
}

int32_t trie_id(const struct trie *t, uint32_t node) { return t->n_nodes == 0 ? -1 : t->nodes[node].id; }
