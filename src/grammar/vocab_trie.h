// grammar/vocab_trie.h - the bytes of a vocabulary's tokens as tries, so that tokens with a common beginning are looked at together.
//
// Tokens of plain characters also stand in slices by the kind and number of their characters: where a grammar allows every text of
// such characters (inside a string), a slice is allowed whole, without looking at its tokens.
// Ownership: vocab_trie_free(). Threads: immutable once made.
#ifndef RN_GRAMMAR_VOCAB_TRIE_H
#define RN_GRAMMAR_VOCAB_TRIE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIE_NO_TOKEN UINT32_MAX
enum { SLICE_WORD, SLICE_PLAIN, N_SLICE_KINDS, N_SLICE_SIZES = 6, SLICE_MOST_CHARS = 32 };
// Characters of a slice's tokens: ASCII letters, digits, - and _; any but ", \ and control characters.
extern const uint8_t slice_chars[N_SLICE_SIZES]; // characters that a token of a slice has at most

struct byte_trie_node { // depth first; what a node leads to follows it
    uint32_t token;     // the first token that ends here, or TRIE_NO_TOKEN
    uint32_t size;      // nodes of this one and all that follow from it
    uint16_t depth;     // bytes before this one
    uint8_t byte;
};

struct byte_trie {
    struct byte_trie_node *nodes;
    uint32_t n_nodes;
    uint32_t root[256]; // the node of a first byte, or TRIE_NO_TOKEN
};

struct vocab_trie {
    int32_t n_tokens;
    size_t n_words;             // of a mask: 64 tokens each
    uint32_t *same;             // [n_tokens] the next token with the same bytes, or TRIE_NO_TOKEN
    struct byte_trie all, rest; // every token; those in no slice
    struct byte_trie slices[N_SLICE_KINDS][N_SLICE_SIZES];
    // [n_words] of the tokens of this kind's characters, and of the kinds within it, that have at most so many of them, less 1.
    uint64_t *masks[N_SLICE_KINDS][SLICE_MOST_CHARS];
    uint32_t max_depth; // bytes of the longest token
};

struct token_bytes {
    const char *bytes;
    uint32_t n; // 0: the token is no text, and never allowed but by name
};

// Errors: RN_E_NOMEM.
rn_status vocab_trie_init(struct vocab_trie *v, const struct token_bytes *tokens, int32_t n_tokens, rn_error *err);
void vocab_trie_free(struct vocab_trie *v);

#endif
