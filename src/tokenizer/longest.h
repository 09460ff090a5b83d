// tokenizer/longest.h - of a text the longest token that it begins with, again and again: RWKV's own tokenizer.
//
// Ownership: longest_init() / longest_free(); points into nothing. Threads: immutable after init.
#ifndef RN_TOKENIZER_LONGEST_H
#define RN_TOKENIZER_LONGEST_H

#include "base/status.h"
#include "tokenizer/id_list.h"
#include "tokenizer/pieces.h"
#include "tokenizer/trie.h"

enum { LONGEST_MAX_TOKEN = 1024 }; // in bytes; bounds the work at each position of a text

struct longest {
    struct trie tokens; // of kind TOKEN_NORMAL, by n_tokens - 1 - id: of equal ones the last counts
    int32_t n_tokens;
}; // zero = nothing to free

// Errors: RN_E_LIMIT (a longer token, by its number), RN_E_NOMEM.
rn_status longest_init(struct longest *l, const struct vocab *v, const struct pieces *pieces, rn_error *err);
void longest_free(struct longest *l);
// Is there a token for this byte by itself? Others may be left without a token.
bool longest_has(const struct longest *l, uint8_t byte);
// Appends the tokens of text[0..n), and adds to *n_dropped the bytes that no token begins with. Errors: RN_E_NOMEM, RN_E_LIMIT (more
// than max_ids).
rn_status longest_encode(const struct longest *l, const char *text, size_t n, size_t max_ids, struct id_list *ids,
                         size_t *n_dropped, rn_error *err);

// GGUF files spell such a token as Python does its bytes: \n, \r, \t, \xNN, and any other character behind a backslash for itself. Writes
// the bytes of s[0..n) to out, which may be s and has room for as many. Returns their number; -1: cut behind a backslash.
long longest_unescape(const char *s, size_t n, char *out);
// Spells bytes so, each in at most 4. Returns their number.
size_t longest_escape(const char *s, size_t n, char *out);

#endif
