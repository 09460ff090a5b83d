// decoding/draft/lookahead_drafter.h - drafts from what the model itself says behind guessed tokens, in rows beside those of the text: lookahead decoding
// (Fu et al. 2024, 2402.02057), Jacobi iterations (2305.10427) whose past is kept.
#ifndef RN_DECODING_DRAFT_LOOKAHEAD_DRAFTER_H
#define RN_DECODING_DRAFT_LOOKAHEAD_DRAFTER_H

#include "decoding/draft/drafter.h"

rn_status lookahead_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err); // RN_E_NOMEM

#endif
