// tokenizer/spm.h - SentencePiece's BPE (Kudo and Richardson 2018): joins characters by the scores
// of the resulting tokens, with byte tokens as fallback.
//
// The text has plain spaces; U+2581, as which such vocabularies write a space, is read as a space
// too.
// Ownership: points into the vocabulary, pieces and table it was made from; nothing to free.
// Threads: immutable.
#ifndef RN_TOKENIZER_SPM_H
#define RN_TOKENIZER_SPM_H

#include "tokenizer/id_list.h"
#include "tokenizer/merger.h"
#include "tokenizer/token_table.h"

struct spm {
    const struct vocab *v;
    const struct token_table *tokens;
    int32_t byte_id[256];
    // No token has a space after another character, so words can be merged separately.
    bool words_are_apart;
};

// Errors: RN_E_FORMAT (a byte without a token where there are byte tokens, else no unknown token; a
// score that is not a number).
rn_status spm_init(struct spm *s, const struct vocab *v, const struct pieces *p, const struct token_table *tokens,
                   rn_error *err);
// Appends the tokens of text[0..n), n at most TOKENIZER_MAX_TEXT, until there are more than max_ids. Errors: RN_E_LIMIT, RN_E_NOMEM.
rn_status spm_encode(const struct spm *s, const char *text, size_t n, bool space_before, size_t max_ids,
                     struct merger *m, struct id_list *ids, rn_error *err);

#endif
