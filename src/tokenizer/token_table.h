// tokenizer/token_table.h - finds the token that stands for given bytes.
//
// Only tokens of kind TOKEN_NORMAL are in it: text never becomes a control, unknown, byte or unused token by merging. User-defined
// ones, which text becomes anyway, are in it for BPE over characters: published merges go through some of them.
// Of tokens with equal bytes the first counts. Hashes are seeded with the table's address, so that nobody who writes a vocabulary
// knows which tokens collide; no answer depends on it.
// Ownership: token_table_init() fills, token_table_free() releases; points into `pieces`. Threads: immutable once filled.
#ifndef RN_TOKENIZER_TOKEN_TABLE_H
#define RN_TOKENIZER_TOKEN_TABLE_H

#include "tokenizer/pieces.h"

struct token_table {
    const struct pieces *pieces;
    struct token_slot *slots;
    size_t mask;
}; // zero = nothing to free

rn_status token_table_init(struct token_table *t, const struct vocab *v, const struct pieces *p, rn_error *err);
void token_table_free(struct token_table *t);
// -1: no such token.
int32_t token_table_find(const struct token_table *t, const char *bytes, size_t n);

#endif
