// engine/saved/fingerprint.h - a number that two models share only if they are the same.
#ifndef RN_ENGINE_SAVED_FINGERPRINT_H
#define RN_ENGINE_SAVED_FINGERPRINT_H

#include "engine/engine.h"

// Of the operations, the tensors' names, types, shapes and samples of their bytes, and the vocabulary: models that differ anywhere in these
// have different ones, on every machine and under every path. Weights are sampled (a kilobyte of each tensor, spread over it), because
// reading all of them would take seconds: another training run shows, a change of single rows may not. RN_E_IO: a file shrank.
rn_status model_slot_fingerprint(const struct model_slot *l, uint64_t *out, rn_error *err);

#endif
