// app/models/model_record.h - what `pull` has written down of a file that it fetched: FOLDER/.pulled/NAME, lines of a word and a value.
//
// Ownership: model_record_free() frees the texts.
// Threads:   any.
#ifndef RN_APP_MODEL_RECORD_H
#define RN_APP_MODEL_RECORD_H

#include "app/models/model_cache.h"

typedef struct model_record {
    char *url, *sha256, *git; // NULL: not known
} model_record;

// Of the model's i-th file; all NULL where there is no record.
void model_record_read(const cached_model *m, size_t i, model_record *r);
void model_record_free(model_record *r);
// The record's path, freed with free(); NULL: a file of that place has none.
char *model_record_path(const cached_model *m, size_t i);

#endif
