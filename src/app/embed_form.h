// app/embed_form.h - what embeddings of texts are asked for with: a prompt before each text, and how many of the numbers.
#ifndef RN_APP_EMBED_FORM_H
#define RN_APP_EMBED_FORM_H

#include "app/bytes.h"
#include <runnel/runnel.h>

// The text to put before each text: that of the model's prompt of this name; name NULL: of its default prompt, "" without one. NULL:
// there is none of this name, and `why` says which there are.
const char *embed_prompt_find(const rn_model_info *info, const char *name, bytes *why);

// Tokenizes the prompt and the text as one text, as rn_tokenize_at_most() does with add_special.
rn_status embed_tokenize(const rn_model *model, const char *prompt, const char *text, size_t n_text, size_t max_ids,
                         int32_t **ids, size_t *n_ids, rn_error *err);

// Leaves the first n_dimensions of n numbers (0: all), and makes their length 1 again where the whole's was (Matryoshka embeddings,
// 2205.13147). Returns how many there are.
size_t embed_cut(float *x, size_t n, size_t n_dimensions, bool is_normalized);

#endif
