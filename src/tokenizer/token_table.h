// tokenizer/token_table.h - looks up the token of given bytes.
//
// It contains tokens of kind TOKEN_NORMAL only, since merging must not turn text into control,
// unknown, byte or unused tokens. For BPE over characters it also contains user-defined tokens,
// because published merges go through some of them. Of tokens with equal bytes, the first is used.
// Hashes are seeded with the table's address, so that the author of a vocabulary cannot provoke
// collisions; results do not depend on the seed.
// Ownership: token_table_init() / token_table_free(); points into `pieces`. Threads: immutable
// after init.
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
