// decoding/draft/feature_drafter.h - drafts by a layer that goes on from the main model's hidden states: EAGLE-1 and 2 (2401.15077, 2406.16858), EAGLE-3
// (2503.01840), and next-token-prediction layers (DeepSeek-V3, 2412.19437).
#ifndef RN_DECODING_DRAFT_FEATURE_DRAFTER_H
#define RN_DECODING_DRAFT_FEATURE_DRAFTER_H

#include "decoding/draft/drafter.h"

// Its slots are those of the parts, from spec->slot on. RN_E_NOMEM.
rn_status feature_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err);

#endif
