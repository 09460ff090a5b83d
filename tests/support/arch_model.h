// tests/support/arch_model.h - a small model with random weights of any architecture: its keys from a list, its tensors from the table of
// model/, so that a new architecture needs a line of keys and no code.
#ifndef RN_TESTS_ARCH_MODEL_H
#define RN_TESTS_ARCH_MODEL_H

#include "tensor/types.h"
#include "tests/support/gguf_builder.h"

// keys, separated by spaces: NAME=VALUE without the architecture in front. VALUE: 4 or -1 (an integer), 1.0, 1e9 or nan (a float), true or false, "a word",
// or for each layer a bool as digits in brackets, [1101], an integer, (0,2,0),
// or a float, {0.5,-1}. A NAME that begins with / is a whole key. embedding_length and block_count must be among them.
struct arch_model {
    const char *arch;
    const char *keys;
    int n_vocab;
    enum tensor_type
        type; // of matrices whose rows are whole blocks of it (any bytes, where it is not written); others are F32
    const char *without; // optional tensors whose names hold this are left out; NULL: none are
    const char *
        optional; // else: only those whose names begin so behind the layer's number are there, with spaces between; a fused one in place of its parts
    uint64_t seed;
    bool has_vocab;                       // byte-level tokens, n_vocab of them
    void (*more)(struct gguf_builder *b); // writes further pairs; NULL: none
    const char *
        change; // NAME=VALUE that the file says in place of its key, or beside all of them, tensors staying as they are; NULL: none
};

// Keys that make no sense without tensors end the process. Every tensor that the architecture knows for these numbers, but for those that
// hold several others' rows and are not needed (unless `optional` names them).
uint8_t *arch_model_bytes(const struct arch_model *m, size_t *n_bytes); // free() it

// The same in two steps, for many files that differ by .change: the tensors once, into an open builder without keys, ..
void arch_model_put_tensors(const struct arch_model *m, struct gguf_builder *b);
// .. and a file of the model's keys and copies of them.
uint8_t *arch_model_bytes_with(const struct arch_model *m, const struct gguf_builder *tensors, size_t *n_bytes);

#endif
