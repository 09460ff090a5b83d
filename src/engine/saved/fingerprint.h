// engine/saved/fingerprint.h - a number that two models share only if they are the same.
#ifndef RN_ENGINE_SAVED_FINGERPRINT_H
#define RN_ENGINE_SAVED_FINGERPRINT_H

#include "engine/engine.h"

// Hashes the operations, the tensors' names, types, shapes and samples of their bytes, and the vocabulary. It does not depend on the
// machine or the path. Weights are sampled (a kilobyte spread over each tensor), as reading all of them would take seconds: a different
// training run is detected, a change of single rows may not be. RN_E_IO: a file shrank.
rn_status model_slot_fingerprint(const struct model_slot *l, uint64_t *out, rn_error *err);

// The same of an adapter: names, shapes and samples of its matrices, and their scales.
uint64_t adapter_fingerprint(const struct adapter_file *f);

#endif
