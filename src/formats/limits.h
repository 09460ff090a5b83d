// formats/limits.h - what a model file may hold at most: one table for each format. Reasons: docs/limits.md.
//
// Each limit is the largest value accepted, and has a test at the limit and one past it.
#ifndef RN_FORMATS_LIMITS_H
#define RN_FORMATS_LIMITS_H

enum gguf_limits {
    GGUF_MAX_PAIRS = 65536,
    GGUF_MAX_TENSORS = 65536,
    GGUF_MAX_KEY_BYTES = 65535,
    GGUF_MAX_TENSOR_NAME_BYTES = 64,
    GGUF_MAX_STRING_BYTES = 16 << 20,
    GGUF_MAX_ARRAY_ITEMS = 16 << 20,
    GGUF_MIN_ALIGNMENT = 8, // both ends powers of two
    GGUF_MAX_ALIGNMENT = 65536,
    GGUF_DEFAULT_ALIGNMENT = 32
};

enum vocab_limits {
    VOCAB_MAX_TOKEN_BYTES = 65535, // of one token; the longest known in use has 1,024
    VOCAB_MAX_MERGE_BYTES = 2 * VOCAB_MAX_TOKEN_BYTES + 1
};

// Ranges of hyper-parameters: the table in formats/hparams.c.

#endif
