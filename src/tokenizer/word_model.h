// tokenizer/word_model.h - the common interface of the models: encodes a segment of plain text.
//
// Ownership: word_model_create() / word_model_destroy(); points into the vocabulary, pieces and
// tables it was made from.
// Threads: immutable once created.
#ifndef RN_TOKENIZER_WORD_MODEL_H
#define RN_TOKENIZER_WORD_MODEL_H

#include "tokenizer/id_list.h"
#include "tokenizer/merger.h"
#include "tokenizer/pieces.h"

typedef struct word_model word_model;

// pieces: the bytes of the tokens. Errors: those of the vocabulary's model.
rn_status word_model_create(const struct vocab *v, const struct pieces *pieces, word_model **out, rn_error *err);
void word_model_destroy(word_model *m); // NULL is fine

struct word_work {  // working memory and results of one encoding
    size_t max_ids; // it stops with RN_E_LIMIT soon after there are more
    struct merger merger;
    struct id_list ids;
    size_t n_dropped; // bytes without a token
};

// The most bytes of text that one token stands for, besides those without a token (word_model_drops()); 0: there is no such limit (white
// space that is removed, unknown text that becomes one token). `pieces` as in word_model_create().
size_t word_model_token_bytes(const word_model *m, const struct pieces *pieces);
// May it leave the byte out? Byte-level BPE and longest tokens may, where the vocabulary lacks a few bytes.
bool word_model_drops(const word_model *m, uint8_t byte);

// Appends the tokens of text[0..n). space_before: SPM prepends a space. Errors: RN_E_LIMIT,
// RN_E_NOMEM.
rn_status word_model_encode(const word_model *m, const char *text, size_t n, bool space_before,
                            struct word_work *work, rn_error *err);

#endif
