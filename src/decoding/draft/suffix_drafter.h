// decoding/draft/suffix_drafter.h - drafts from the text itself and from earlier answers of the engine, by their suffixes: what followed the
// longest end of the text that stood before in it, and what followed it most often in the answers (SuffixDecoding, Oliaro et al. 2024).
#ifndef RN_DECODING_DRAFT_SUFFIX_DRAFTER_H
#define RN_DECODING_DRAFT_SUFFIX_DRAFTER_H

#include "decoding/draft/drafter.h"

rn_status suffix_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err); // RN_E_NOMEM

#endif
