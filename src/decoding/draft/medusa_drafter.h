// decoding/draft/medusa_drafter.h - drafts by Medusa heads (Cai et al. 2024, 2401.10774): each head reads the last hidden state of the main
// model and guesses a token one further on.
#ifndef RN_DECODING_DRAFT_MEDUSA_DRAFTER_H
#define RN_DECODING_DRAFT_MEDUSA_DRAFTER_H

#include "decoding/draft/drafter.h"

// Its slots are those of the heads, from spec->slot on. RN_E_NOMEM.
rn_status medusa_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err);

#endif
