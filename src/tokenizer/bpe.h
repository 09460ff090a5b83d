// tokenizer/bpe.h - byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): splits text into
// words by patterns and joins their bytes by ranked merges.
//
// Ownership: bpe_init() / bpe_free(); points into the table it was made from. Threads: immutable.
#ifndef RN_TOKENIZER_BPE_H
#define RN_TOKENIZER_BPE_H

#include "tokenizer/id_list.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/merger.h"
#include "tokenizer/pre_tokenizer.h"

struct bpe {
    const struct token_table *tokens;
    struct merge_table merges;
    pre_tokenizer *pre;
    int32_t byte_id[256]; // token of each byte; -1: none (some published vocabularies lack a few)
}; // zero = nothing to free

// Errors: those of pre_tokenizer_create() and merge_table_init().
rn_status bpe_init(struct bpe *b, const struct vocab *v, const struct token_table *tokens, rn_error *err);
void bpe_free(struct bpe *b);
// Appends the tokens of text[0..n), until there are more than max_ids, and adds to *n_dropped the number of bytes without a token.
// Errors: RN_E_LIMIT, RN_E_NOMEM.
rn_status bpe_encode(const struct bpe *b, const char *text, size_t n, size_t max_ids, struct merger *m,
                     struct id_list *ids, size_t *n_dropped, rn_error *err);

#endif
