// tokenizer/merge_table.h - the ranked merges by token id: (left token, right token) -> rank and
// joined token.
//
// Ownership: merge_table_init() / merge_table_free(). Threads: immutable after init.
#ifndef RN_TOKENIZER_MERGE_TABLE_H
#define RN_TOKENIZER_MERGE_TABLE_H

#include "tokenizer/token_table.h"

struct merge_table {
    struct merge_slot *slots;
    size_t mask;
    // Decodes one side of a merge to a token's bytes.
    size_t (*decode)(const char *s, size_t n, char *out);
}; // zero = nothing to free

// Errors: RN_E_FORMAT (a merge without a space, a duplicate merge, or one whose sides or result are
// not tokens), naming the merge; RN_E_NOMEM.
rn_status merge_table_init(struct merge_table *t, const struct vocab *v, const struct token_table *tokens,
                           rn_error *err);
void merge_table_free(struct merge_table *t);
// Is there a merge of left and right? If so, sets its rank and the joined token.
bool merge_table_find(const struct merge_table *t, int32_t left, int32_t right, uint32_t *rank, int32_t *id);

#endif
