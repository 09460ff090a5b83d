// tokenizer/trie.h - a prefix tree of strings: one step for each byte of a text, independent of the
// number of strings.
//
// Ownership: trie_init() / trie_free(); the strings are not referenced afterwards. Threads:
// immutable after init.
#ifndef RN_TOKENIZER_TRIE_H
#define RN_TOKENIZER_TRIE_H

#include "tokenizer/text_steps.h"

struct spelling {
    struct vocab_str text; // not empty
    int32_t id;
};

struct trie {
    struct trie_node *nodes; // [0] the root
    uint32_t n_nodes;
}; // zero = no strings, nothing to free

enum { TRIE_ROOT = 0, TRIE_NONE = 0 }; // unambiguous, since no step leads to the root

// Sorts list[0..n). Of equal strings, the lowest id is used. false: out of memory, *t is zero.
bool trie_init(struct trie *t, struct spelling *list, uint32_t n);
void trie_free(struct trie *t);
// The child of a node for a byte; TRIE_NONE: no string continues so.
uint32_t trie_step(const struct trie *t, uint32_t node, uint8_t byte);
// The id of the string that ends at this node; -1: none.
int32_t trie_id(const struct trie *t, uint32_t node);

#endif
