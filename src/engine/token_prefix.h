// engine/token_prefix.h - tokens by what their bytes begin with: for healing a prompt's end, and wherever given bytes must come next.
//
// Tokens without bytes, such as control tokens, begin with nothing. Each call goes over the vocabulary once.
// Threads: pure functions of a model, which is immutable.
#ifndef RN_ENGINE_TOKEN_PREFIX_H
#define RN_ENGINE_TOKEN_PREFIX_H

#include <runnel/model.h>
#include <stddef.h>
#include <stdint.h>

// Makes the mask (sampling/token_mask.h) of the tokens of 0..n_vocab that may come next where bytes[0..n) must, n >= 1: those that
// begin with these bytes, or with whose bytes these begin.
void token_prefix_mask(const rn_model *m, int32_t n_vocab, const char *bytes, size_t n, uint64_t *mask);
// How many of the last tokens of ids[0..n_ids) are to be taken back, so that the text's tokens may be cut in other ways there: the
// most whose bytes, joined, are the beginning of a longer token; 0: none are. Only tokens of plain text, at most n_bytes bytes.
size_t token_prefix_to_heal(const rn_model *m, int32_t n_vocab, const int32_t *ids, size_t n_ids, size_t n_bytes);

#endif
