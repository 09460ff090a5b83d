// tokenizer/merge_table.h - ranked merges as numbers: (left token, right token) -> rank and joined token.
//
// Ownership: merge_table_init() fills, merge_table_free() releases. Threads: immutable once filled.
#ifndef RN_TOKENIZER_MERGE_TABLE_H
#define RN_TOKENIZER_MERGE_TABLE_H

#include "tokenizer/token_table.h"

struct merge_table {
    struct merge_slot *slots;
    size_t mask;
    size_t (*decode)(const char *s, size_t n, char *out); // a half of a merge to what the token table has
}; // zero = nothing to free

// Errors: RN_E_FORMAT (a merge without a space, or of or into bytes that no token has; a merge given twice), naming the
// merge; RN_E_NOMEM.
rn_status merge_table_init(struct merge_table *t, const struct vocab *v, const struct token_table *tokens,
                           rn_error *err);
void merge_table_free(struct merge_table *t);
// Are left and right joined? Then the merge's rank and the joined token.
bool merge_table_find(const struct merge_table *t, int32_t left, int32_t right, uint32_t *rank, int32_t *id);

#endif
