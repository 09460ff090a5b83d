// tokenizer/spm.h - SentencePiece's BPE (Kudo and Richardson 2018): characters joined by the scores of the tokens they make,
// bytes for what no token covers.
//
// Works on text in which a space is a space: U+2581, by which such vocabularies write it, is read as one too.
// Ownership: points into the vocabulary, pieces and table it was made from; nothing to free. Threads: immutable.
#ifndef RN_TOKENIZER_SPM_H
#define RN_TOKENIZER_SPM_H

#include "tokenizer/id_list.h"
#include "tokenizer/merger.h"
#include "tokenizer/token_table.h"

struct spm {
    const struct vocab *v;
    const struct token_table *tokens;
    int32_t byte_id[256];
    bool words_are_apart; // no token has a space behind another character: words can be merged one by one
};

// Errors: RN_E_FORMAT (a byte without a token where there are byte tokens, else no unknown token; a score that is not a number).
rn_status spm_init(struct spm *s, const struct vocab *v, const struct pieces *p, const struct token_table *tokens,
                   rn_error *err);
// Appends the tokens of text[0..n), n at most TOKENIZER_MAX_TEXT. Errors: RN_E_NOMEM.
rn_status spm_encode(const struct spm *s, const char *text, size_t n, bool space_before, struct merger *m,
                     struct id_list *ids, rn_error *err);

#endif
