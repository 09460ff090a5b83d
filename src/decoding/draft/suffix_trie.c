// decoding/draft/suffix_trie.c - see suffix_trie.h.
#include "decoding/draft/suffix_trie.h"
#include "base/mem.h"
#include <assert.h>

// Siblings that are looked at when the best child came less often: of more, one that comes often may be missed.
enum { MOST_SIBLINGS = 64 };

static uint32_t heads_for(int32_t n_nodes) {
    uint32_t n = 64;
    while (n < (uint32_t)n_nodes / 2) n *= 2;
    return n;
}

size_t suffix_trie_bytes(int32_t n_nodes) {
    return (size_t)n_nodes * sizeof(struct suffix_node) + heads_for(n_nodes) * sizeof(int32_t);
}

rn_status suffix_trie_init(struct suffix_trie *t, int32_t n_nodes, struct suffix_texts texts, rn_error *err) {
    *t = (struct suffix_trie){.n_heads = heads_for(n_nodes), .first_free = SUFFIX_NONE, .texts = texts};
    t->nodes = mem_alloc((size_t)n_nodes * sizeof *t->nodes);
    t->heads = mem_calloc(t->n_heads, sizeof *t->heads);
    if (!t->nodes || !t->heads) {
        suffix_trie_free(t);
        return fail(err, RN_E_NOMEM, "drafts: out of memory for %d nodes", n_nodes);
    }
    t->n_free = n_nodes;
    return RN_OK;
}

void suffix_trie_free(struct suffix_trie *t) {
    mem_free(t->nodes);
    mem_free(t->heads);
    *t = (struct suffix_trie){0};
}

// ---- nodes ----

static int32_t *head(const struct suffix_trie *t, int32_t parent, int32_t token) {
    const uint32_t hash = ((uint32_t)parent * 2654435761U ^ (uint32_t)token) * 0x915F77F5U;
    return &t->heads[(hash ^ hash >> 15) & (t->n_heads - 1)];
}

static int32_t child_of(const struct suffix_trie *t, int32_t parent, int32_t token) {
    int32_t i = *head(t, parent, token) - 1;
    while (i != SUFFIX_NONE && (t->nodes[i].parent != parent || t->nodes[i].token != token))
        i = t->nodes[i].same_hash;
    return i;
}

static bool is_leaf(const struct suffix_trie *t, int32_t node) { return t->nodes[node].best == SUFFIX_LEAF; }

static int32_t take_node(struct suffix_trie *t) {
    assert(t->n_free > 0);
    t->n_free--;
    if (t->first_free == SUFFIX_NONE) return t->n_nodes++;
    const int32_t node = t->first_free;
    t->first_free = t->nodes[node].first;
    return node;
}

static void give_node(struct suffix_trie *t, int32_t node) {
    t->nodes[node].first = t->first_free;
    t->first_free = node;
    t->n_free++;
}

int32_t suffix_trie_open_root(struct suffix_trie *t) {
    const int32_t root = take_node(t);
    t->nodes[root] = (struct suffix_node){.token = SUFFIX_NONE,
                                          .parent = SUFFIX_NONE,
                                          .best = SUFFIX_NONE,
                                          .first = SUFFIX_NONE,
                                          .before = SUFFIX_NONE,
                                          .after = SUFFIX_NONE};
    return root;
}

void suffix_trie_close_root(struct suffix_trie *t, int32_t root) {
    assert(t->nodes[root].first == SUFFIX_NONE);
    give_node(t, root);
}

// It came once more, or for the first time.
static void rank(struct suffix_trie *t, int32_t node) {
    int32_t *const best = &t->nodes[t->nodes[node].parent].best;
    if (*best == SUFFIX_NONE || t->nodes[node].count >= t->nodes[*best].count) *best = node;
}

static void add_leaf(struct suffix_trie *t, int32_t parent, int32_t token, int32_t place) {
    const int32_t node = take_node(t), after = t->nodes[parent].first;
    int32_t *const list = head(t, parent, token);
    t->nodes[node] = (struct suffix_node){.token = token,
                                          .parent = parent,
                                          .count = 1,
                                          .best = SUFFIX_LEAF,
                                          .first = place,
                                          .before = SUFFIX_NONE,
                                          .after = after,
                                          .same_hash = *list - 1};
    *list = node + 1;
    if (after != SUFFIX_NONE) t->nodes[after].before = node;
    t->nodes[parent].first = node;
    rank(t, node);
}

// The string stands in a second place: its first one becomes a leaf below it, if it goes on there.
static void open_leaf(struct suffix_trie *t, int32_t node, bool is_deepest) {
    const int32_t place = t->nodes[node].first, token = t->texts.tokens[place];
    t->nodes[node].first = t->nodes[node].best = SUFFIX_NONE;
    if (token != SUFFIX_TEXT_END && !is_deepest) add_leaf(t, node, token, suffix_next_place(&t->texts, place));
}

static void rank_again(struct suffix_trie *t, int32_t parent) {
    int32_t best = t->nodes[parent].best, looks = 0;
    for (int32_t i = t->nodes[parent].first; i != SUFFIX_NONE && looks < MOST_SIBLINGS;
         i = t->nodes[i].after, looks++)
        if (best == SUFFIX_NONE || t->nodes[i].count > t->nodes[best].count) best = i;
    t->nodes[parent].best = best;
}

static void drop_node(struct suffix_trie *t, int32_t node) {
    const struct suffix_node n = t->nodes[node];
    int32_t *const list = head(t, n.parent, n.token), i = *list - 1;
    if (i == node)
        *list = n.same_hash + 1;
    else {
        while (t->nodes[i].same_hash != node) i = t->nodes[i].same_hash;
        t->nodes[i].same_hash = n.same_hash;
    }
    if (n.before != SUFFIX_NONE)
        t->nodes[n.before].after = n.after;
    else
        t->nodes[n.parent].first = n.after;
    if (n.after != SUFFIX_NONE) t->nodes[n.after].before = n.before;
    if (t->nodes[n.parent].best == node) t->nodes[n.parent].best = SUFFIX_NONE, rank_again(t, n.parent);
    give_node(t, node);
}

// ---- places ----

void suffix_trie_add(struct suffix_trie *t, int32_t root, int32_t place) {
    assert(t->n_free >= SUFFIX_PLACE_NODES);
    int32_t node = root;
    for (int depth = 1; depth <= SUFFIX_DEPTH; depth++) {
        const int32_t token = t->texts.tokens[place];
        if (token == SUFFIX_TEXT_END) return;
        place = suffix_next_place(&t->texts, place);
        const int32_t child = child_of(t, node, token);
        if (child == SUFFIX_NONE) {
            add_leaf(t, node, token, place);
            return;
        }
        if (is_leaf(t, child)) open_leaf(t, child, depth == SUFFIX_DEPTH);
        t->nodes[child].count++;
        rank(t, child);
        node = child;
    }
}

void suffix_trie_remove(struct suffix_trie *t, int32_t root, int32_t place) {
    int32_t node = root;
    for (int depth = 1; depth <= SUFFIX_DEPTH; depth++) {
        const int32_t token = t->texts.tokens[place];
        if (token == SUFFIX_TEXT_END) break;
        place = suffix_next_place(&t->texts, place);
        const int32_t child = child_of(t, node, token);
        assert(child != SUFFIX_NONE);
        t->nodes[child].count--;
        if (t->nodes[node].best == child) rank_again(t, node);
        node = child;
        if (is_leaf(t, node)) break;
    }
    while (node != root && t->nodes[node].count == 0) {
        const int32_t parent = t->nodes[node].parent;
        drop_node(t, node);
        node = parent;
    }
}

// ---- walks ----

// To the child, or to the place behind a leaf.
static void enter(const struct suffix_trie *t, struct suffix_walk *w, int32_t child) {
    w->node = child;
    w->depth++;
    w->place = is_leaf(t, child) ? t->nodes[child].first : SUFFIX_NONE;
}

bool suffix_walk_begin(const struct suffix_trie *t, int32_t root, const int32_t *tokens, int32_t n,
                       struct suffix_walk *w) {
    *w = (struct suffix_walk){root, root, 0, SUFFIX_NONE};
    for (int32_t i = 0; i < n; i++)
        if (w->place != SUFFIX_NONE) {
            if (t->texts.tokens[w->place] != tokens[i]) return false;
            w->place = suffix_next_place(&t->texts, w->place);
        } else {
            const int32_t child = child_of(t, w->node, tokens[i]);
            if (child == SUFFIX_NONE) return false;
            enter(t, w, child);
        }
    return true;
}

bool suffix_walk_best(const struct suffix_trie *t, const struct suffix_walk *w, int32_t *token, int32_t *count,
                      int32_t *of) {
    *count = *of = 1;
    if (w->place != SUFFIX_NONE) {
        *token = t->texts.tokens[w->place];
        return *token != SUFFIX_TEXT_END;
    }
    const int32_t best = t->nodes[w->node].best;
    if (best == SUFFIX_NONE) return false;
    *token = t->nodes[best].token;
    *count = t->nodes[best].count, *of = t->nodes[w->node].count;
    return true;
}

int32_t suffix_walk_count(const struct suffix_trie *t, const struct suffix_walk *w, int32_t token) {
    if (w->place != SUFFIX_NONE) return t->texts.tokens[w->place] == token;
    const int32_t child = child_of(t, w->node, token);
    return child == SUFFIX_NONE ? 0 : t->nodes[child].count;
}

void suffix_walk_on(const struct suffix_trie *t, struct suffix_walk *w, const int32_t *text, int32_t n) {
    if (w->place != SUFFIX_NONE) {
        w->place = suffix_next_place(&t->texts, w->place);
        return;
    }
    enter(t, w, t->nodes[w->node].best);
    const int32_t half = n < SUFFIX_DEPTH / 2 ? n : SUFFIX_DEPTH / 2;
    if (w->depth == SUFFIX_DEPTH && w->place == SUFFIX_NONE)
        (void)suffix_walk_begin(t, w->root, text + n - half, half, w);
}
