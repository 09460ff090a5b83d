// decoding/early_layers.h - which early layers DoLa compares the last one with, as transformers counts and chooses them.
//
// Threads: pure functions.
#ifndef RN_DECODING_EARLY_LAYERS_H
#define RN_DECODING_EARLY_LAYERS_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { EARLY_LAYERS_MOST = 12 };
// text: "low", "high" or numbers separated by commas: 0 is what the first layer reads, i what layer i of n_layer wrote. ties_head: the
// head is the embedding, which would say what it read of layer 0: "low" begins at layer 2. RN_E_ARG: not such a text, a number that is not
// below n_layer, one twice, or more than EARLY_LAYERS_MOST.
rn_status early_layers_read(const char *text, int32_t n_layer, bool ties_head, int32_t layers[EARLY_LAYERS_MOST],
                            int32_t *n, rn_error *err);

#endif
