// decoding/draft/ngram_drafter.h - drafts from the text itself: what followed the last occurrence of its end.
#ifndef RN_DECODING_DRAFT_NGRAM_DRAFTER_H
#define RN_DECODING_DRAFT_NGRAM_DRAFTER_H

#include "decoding/draft/drafter.h"

rn_status ngram_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err); // RN_E_NOMEM

#endif
