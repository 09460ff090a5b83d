// decoding/draft/suffix_trie.h - what followed what in some texts, and how often: their strings of up to
// SUFFIX_DEPTH tokens with counts, as the suffix tree of SuffixDecoding (Oliaro et al. 2024) has them.
//
// A node stands for a string, its children for the tokens that followed. A string that stands in one
// place only is a leaf, which says where it goes on; so a text that is like no other takes a node for
// each token. Texts come and go place by place. There are several trees, each below a root of its own.
//
// Ownership: the tokens are lent. Nothing is allocated after suffix_trie_init(). Threads: one at a time.
#ifndef RN_DECODING_DRAFT_SUFFIX_TRIE_H
#define RN_DECODING_DRAFT_SUFFIX_TRIE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUFFIX_DEPTH = 32,                     // tokens of the longest string
    SUFFIX_PLACE_NODES = SUFFIX_DEPTH + 1, // nodes that one place may take, at most
    SUFFIX_BLOCK = 64,                     // tokens
    SUFFIX_TEXT_END = -1,                  // stands behind a text's last token
    SUFFIX_NONE = -1,                      // no node, no place
    SUFFIX_LEAF = -2
};

// Texts in blocks. A place is the index of a token.
struct suffix_texts {
    int32_t *tokens;     // [n_blocks * SUFFIX_BLOCK]
    int32_t *next_block; // [n_blocks]
};
static inline int32_t suffix_next_place(const struct suffix_texts *t, int32_t place) {
    return (place + 1) % SUFFIX_BLOCK ? place + 1 : t->next_block[place / SUFFIX_BLOCK] * SUFFIX_BLOCK;
}

struct suffix_node {
    int32_t token, parent;
    int32_t count;         // places where the string stands
    int32_t best;          // the child with the highest count, the latest of equals; SUFFIX_LEAF: it is a leaf
    int32_t first;         // child; of a leaf: the place behind the string; of a free node: the next free one
    int32_t before, after; // siblings
    int32_t same_hash;     // the next node of the hash table's list
};

struct suffix_trie {
    struct suffix_node *nodes; // [n_nodes]
    // [n_heads], a power of two: lists of nodes by parent and token. The first one + 1; 0: none
    int32_t *heads;
    uint32_t n_heads;
    int32_t n_nodes, n_free, first_free; // n_nodes were used; the pages of those behind are not touched
    struct suffix_texts texts;
};

size_t suffix_trie_bytes(int32_t n_nodes); // that so many nodes take
rn_status suffix_trie_init(struct suffix_trie *t, int32_t n_nodes, struct suffix_texts texts,
                           rn_error *err);    // RN_E_NOMEM
void suffix_trie_free(struct suffix_trie *t); // of {0}, too

int32_t suffix_trie_open_root(struct suffix_trie *t);             // a node is free
void suffix_trie_close_root(struct suffix_trie *t, int32_t root); // it has no children
// The strings that begin at a place, for which SUFFIX_PLACE_NODES nodes are free; and takes them out again.
void suffix_trie_add(struct suffix_trie *t, int32_t root, int32_t place);
void suffix_trie_remove(struct suffix_trie *t, int32_t root, int32_t place);

// Where a text is that is continued by what followed elsewhere: behind a node's string, or in a text behind
// a leaf's.
struct suffix_walk {
    int32_t root, node;
    int32_t depth; // tokens of the node's string
    int32_t place; // of the next token; SUFFIX_NONE: not behind a leaf
};
// Behind n tokens; false: they do not stand there in a row, or are longer than the strings that are known.
bool suffix_walk_begin(const struct suffix_trie *t, int32_t root, const int32_t *tokens, int32_t n,
                       struct suffix_walk *w);
// The token that followed most often; *count: how often; *of: the times that anything or nothing did. false: none.
bool suffix_walk_best(const struct suffix_trie *t, const struct suffix_walk *w, int32_t *token, int32_t *count,
                      int32_t *of);
// How often a token followed there.
int32_t suffix_walk_count(const struct suffix_trie *t, const struct suffix_walk *w, int32_t token);
// Goes on to the token that followed most often, which text[n - 1] is. Behind SUFFIX_DEPTH tokens, it goes on behind the last half of them.
void suffix_walk_on(const struct suffix_trie *t, struct suffix_walk *w, const int32_t *text, int32_t n);

#endif
