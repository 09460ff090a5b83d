// decoding/draft/ngram_cache_drafter.h - drafts from counts of what followed strings of 1 to 4 tokens: in the text, in finished answers, and in a file
// that was made of other texts. llama.cpp's "lookup".
#ifndef RN_DECODING_DRAFT_NGRAM_CACHE_DRAFTER_H
#define RN_DECODING_DRAFT_NGRAM_CACHE_DRAFTER_H

#include "decoding/draft/drafter.h"

rn_status ngram_cache_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err); // RN_E_NOMEM

#endif
