// tokenizer/word_model.h - one face for the models that tokenizer.c can drive: what becomes of a stretch of plain text.
//
// Ownership: word_model_create() / word_model_destroy(); points into the vocabulary, pieces and tables it was made from.
// Threads: immutable once created.
#ifndef RN_TOKENIZER_WORD_MODEL_H
#define RN_TOKENIZER_WORD_MODEL_H

#include "tokenizer/id_list.h"
#include "tokenizer/merger.h"
#include "tokenizer/pieces.h"

typedef struct word_model word_model;

// pieces: what the tokens stand for. Errors: those of the model the vocabulary names.
rn_status word_model_create(const struct vocab *v, const struct pieces *pieces, word_model **out, rn_error *err);
void word_model_destroy(word_model *m); // NULL is fine

struct word_work { // what one encoding needs and makes
    struct merger merger;
    struct id_list ids;
    size_t n_dropped; // bytes without a token
};

// Appends the tokens of text[0..n). space_before: SPM puts a space before it. Errors: RN_E_LIMIT, RN_E_NOMEM.
rn_status word_model_encode(const word_model *m, const char *text, size_t n, bool space_before,
                            struct word_work *work, rn_error *err);

#endif
