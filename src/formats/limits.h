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
    GGUF_DEFAULT_ALIGNMENT = 32,
    GGUF_MAX_PARTS = 1024 // files of a split model
};

enum safetensors_limits {
    SAFETENSORS_MAX_HEADER_BYTES = 100000000, // as the reference library
    SAFETENSORS_MAX_TENSORS = 65536,          // of all shards together
    SAFETENSORS_MAX_DIMS = 8,                 // 4 of a tensor that is used: pictures' parts have more
    SAFETENSORS_MAX_NAME_BYTES = 256,
    SAFETENSORS_MAX_SHARDS = 1024
};

enum folder_limits { // bytes of a folder's text files
    FOLDER_MAX_CONFIG_BYTES = 1 << 20,
    FOLDER_MAX_INDEX_BYTES = 16 << 20,
    FOLDER_MAX_TOKENIZER_BYTES = 64 << 20,
    FOLDER_MAX_TOKENIZER_CONFIG_BYTES = 16 << 20, // Gemma's has 1.2 MB: it repeats the added tokens
    FOLDER_MAX_TEMPLATE_BYTES = 256 << 10,
    FOLDER_MAX_END_IDS = 32
};

enum json_limits { JSON_MAX_DEPTH = 64, JSON_MAX_VALUES = 2097152 };

enum vocab_limits {
    VOCAB_MAX_TOKEN_BYTES = 65535, // of one token; the longest known in use has 1,024
    VOCAB_MAX_MERGE_BYTES = 2 * VOCAB_MAX_TOKEN_BYTES + 1,
    VOCAB_MAX_HOLES = 65536, // ids below the highest that no token has: padding of an embedding comes to thousands
    VOCAB_MAX_STEPS = 64     // of a normalizer, pre-tokenizer or decoder
};

// Ranges of hyper-parameters: the table in formats/hparams/hparam_rows.c.

#endif
