// tests/support/arch_model.h - a small model with random weights of any architecture: its keys from a list, its tensors from the table of
// the model room, so that a new architecture needs a line of keys and no code.
#ifndef RN_TESTS_ARCH_MODEL_H
#define RN_TESTS_ARCH_MODEL_H

#include "tensor/types.h"
#include "tests/support/gguf_builder.h"

// keys, separated by spaces: NAME=VALUE without the architecture in front. VALUE: 4 or -1 (an integer), 1.0, 1e9 or nan (a float), true, or one bool for
// each layer as digits in brackets: [1101]. embedding_length and block_count must be among them.
struct arch_model {
    const char *arch;
    const char *keys;
    int n_vocab;
    enum tensor_type type; // of matrices whose rows are whole blocks of it; others are F32
    const char *without;   // optional tensors whose names hold this are left out; NULL: none are
    uint64_t seed;
    const char *change; // NAME=VALUE that the file says in place of its key, tensors staying as they are; NULL: none
};

// Every tensor that the architecture knows for these numbers, but for those that hold several others' rows and are not needed.
uint8_t *arch_model_bytes(const struct arch_model *m, size_t *n_bytes); // free() it

#endif
