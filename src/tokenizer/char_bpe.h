// tokenizer/char_bpe.h - BPE over characters with ranked merges (Sennrich et al. 2016): what
// tokenizer.json calls BPE when it has no byte-level step. Characters without a token become byte
// tokens or the unknown token.
//
// Ownership: char_bpe_init() / char_bpe_free(); points into the vocabulary and table it was made
// from. Threads: immutable.
#ifndef RN_TOKENIZER_CHAR_BPE_H
#define RN_TOKENIZER_CHAR_BPE_H

#include "tokenizer/id_list.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/merger.h"

struct char_bpe {
    const struct vocab *v;
    const struct token_table *tokens; // as stored
    struct merge_table merges;
    int32_t byte_id[256]; // -1: none
}; // zero = nothing to free

// Errors: those of merge_table_init().
rn_status char_bpe_init(struct char_bpe *b, const struct vocab *v, const struct token_table *tokens, rn_error *err);
void char_bpe_free(struct char_bpe *b);
// Appends the tokens of a word, at most TOKENIZER_MAX_TEXT bytes of valid UTF-8, and adds to
// *n_dropped the number of bytes without a token.
// Errors: RN_E_NOMEM.
rn_status char_bpe_encode(const struct char_bpe *b, const char *word, size_t n, struct merger *m, struct id_list *ids,
                          size_t *n_dropped, rn_error *err);

#endif
