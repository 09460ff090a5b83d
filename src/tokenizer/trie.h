// tokenizer/trie.h - strings by their beginnings: one step for each byte of a text, whatever the number of strings.
//
// Ownership: trie_init() fills, trie_free() releases; nothing of the strings is kept. Threads: immutable once filled.
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

enum { TRIE_ROOT = 0, TRIE_NONE = 0 }; // no step leads to the root

// Sorts list[0..n). Of equal strings the lowest id counts. false: out of memory, *t is zero.
bool trie_init(struct trie *t, struct spelling *list, uint32_t n);
void trie_free(struct trie *t);
uint32_t trie_step(const struct trie *t, uint32_t node, uint8_t byte); // TRIE_NONE: no string goes on so
int32_t trie_id(const struct trie *t, uint32_t node);                  // of the string that ends here; -1: none

#endif
