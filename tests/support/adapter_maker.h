// tests/support/adapter_maker.h - GGUF adapters with random matrices for any model.
#ifndef RN_TESTS_ADAPTER_MAKER_H
#define RN_TESTS_ADAPTER_MAKER_H

#include "formats/package.h"
#include <stdbool.h>
#include <stdint.h>

struct made_adapter {
    int rank;
    float alpha;      // 0: the key is left out
    const char *only; // of tensors whose names hold this; NULL: of all matrices of layers
    uint64_t seed;    // the same bytes for the same seed on every machine
};
uint8_t *made_adapter_bytes(const struct made_adapter *m, const package *base, size_t *n_bytes); // free() it
// For the model of a file; false: a failed check.
bool made_adapter_write(const struct made_adapter *m, const char *model_path, const char *path);

#endif
