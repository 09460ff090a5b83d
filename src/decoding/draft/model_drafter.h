// decoding/draft/model_drafter.h - drafts of a smaller model (Leviathan et al. 2023; Chen et al. 2023), with the same vocabulary or, through text, another.
//
// The model has a sequence of its own on its slot: the text, then a chain of its most probable tokens as scratch rows, one step for each. A guess
// is as sure as the model is: its classes are ranges of the draft model's probability, each with the share that turned out right. The next
// most probable tokens of each row are guesses, too, which need no further step. The chain ends where a longer one is not expected to pay.
//
// A sequence that lags behind, since other drafters guessed or none paid, begins again with the end of the text; so does one that reaches the
// context of its model.
#ifndef RN_DECODING_DRAFT_MODEL_DRAFTER_H
#define RN_DECODING_DRAFT_MODEL_DRAFTER_H

#include "decoding/draft/drafter.h"

rn_status model_drafter_create(const struct drafter_spec *spec, drafter **out, rn_error *err); // RN_E_NOMEM

#endif
