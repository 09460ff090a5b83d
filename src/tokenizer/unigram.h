// tokenizer/unigram.h - a unigram language model of pieces (Kudo 2018): finds the most likely
// segmentation of a text by the Viterbi algorithm.
//
// O(length of the text * length of the longest piece).
// Ownership: unigram_init() / unigram_free(); points into the vocabulary. Threads: immutable after
// init.
#ifndef RN_TOKENIZER_UNIGRAM_H
#define RN_TOKENIZER_UNIGRAM_H

#include "base/status.h"
#include "tokenizer/id_list.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

enum { UNIGRAM_MAX_PIECE = 1024 }; // in bytes; bounds the work at each position of a text

struct unigram {
    const struct vocab *v;
    struct trie pieces;
    double unk_score;
    int32_t byte_id[256]; // -1: none
}; // zero = nothing to free

// Errors: RN_E_FORMAT (a score that is not finite; no unknown token and no byte tokens),
// RN_E_LIMIT, RN_E_NOMEM.
rn_status unigram_init(struct unigram *u, const struct vocab *v, rn_error *err);
void unigram_free(struct unigram *u);
// Appends the tokens of text[0..n), in which spaces are written as in the pieces. Errors:
// RN_E_NOMEM.
rn_status unigram_encode(const struct unigram *u, const char *text, size_t n, struct id_list *ids, rn_error *err);

#endif
