// formats/limits.h - limits on the contents of model files, one table per format. docs/limits.md has the reasons.
//
// Each limit is the largest accepted value and is tested at that value and one above it.
#ifndef RN_FORMATS_LIMITS_H
#define RN_FORMATS_LIMITS_H

enum gguf_limits {
    GGUF_MAX_PAIRS = 65536,
    GGUF_MAX_TENSORS = 65536,
    GGUF_MAX_KEY_BYTES = 65535,
    GGUF_MAX_TENSOR_NAME_BYTES = 64,
    GGUF_MAX_STRING_BYTES = 16 << 20,
    GGUF_MAX_ARRAY_ITEMS = 16 << 20,
    GGUF_MIN_ALIGNMENT = 8, // both limits are powers of two
    GGUF_MAX_ALIGNMENT = 65536,
    GGUF_DEFAULT_ALIGNMENT = 32,
    GGUF_MAX_PARTS = 1024 // files of a split model
};

enum safetensors_limits {
    SAFETENSORS_MAX_HEADER_BYTES = 100000000, // as in the reference library
    SAFETENSORS_MAX_TENSORS = 65536,          // all shards together
    SAFETENSORS_MAX_DIMS = 8,                 // at most 4 in tensors that are used; vision parts have more
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

enum adapter_limits {
    ADAPTER_MAX_RANK = 4096,
    ADAPTER_MAX_ALPHA = 1000000 // and at least -ADAPTER_MAX_ALPHA
};

enum vision_limits { // of towers and projectors; numbers of their rows are products of two of these at most
    VISION_MAX_WIDTH = 65536,
    VISION_MAX_LAYERS = 1024,
    VISION_MAX_PATCH = 64,      // pixels of a side
    VISION_MAX_ROWS = 16384,    // patches of a picture, and a class row
    VISION_MOST_PATCHES = 5120, // of a picture whose size the tower leaves open: larger ones are made smaller
    VISION_MAX_DEEPSTACK = 8,   // layers whose features are projected apart; published models have 3
    VISION_ROW_KINDS = 2        // tokens of a tower's rows: patches, the class row
};

enum ngram_file_limits { NGRAM_FILE_MAX_BYTES = 1 << 30 };

enum json_limits { JSON_MAX_DEPTH = 64, JSON_MAX_VALUES = 2097152 };

enum vocab_limits {
    VOCAB_MAX_TOKEN_BYTES = 65535, // of one token; the longest in a published vocabulary has 1,024
    VOCAB_MAX_MERGE_BYTES = 2 * VOCAB_MAX_TOKEN_BYTES + 1,
    VOCAB_MAX_HOLES = 65536, // unused ids below the highest one: padded embeddings have thousands
    VOCAB_MAX_STEPS = 64     // in a normalizer, pre-tokenizer or decoder
};

// Ranges of hyper-parameters: the table in formats/hparams/hparam_rows.c.

#endif
