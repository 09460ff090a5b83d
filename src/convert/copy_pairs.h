// convert/copy_pairs.h - the metadata pairs of a quantized file: copied from its source, with outdated ones replaced.
#ifndef RN_CONVERT_COPY_PAIRS_H
#define RN_CONVERT_COPY_PAIRS_H

#include "formats/gguf/gguf_write.h"

enum { GGUF_QUANTIZATION_VERSION = 2 }; // of the block layouts: general.quantization_version

enum { MAX_REPLACED_PAIRS = 8 };
struct replaced_pair {
    char key[128];
    uint32_t value;
};

// source: the bytes of the GGUF file, or of its first part. replaced: pairs that replace those with the same key; keys that the
// source does not have are appended. Errors: those of gguf_read().
rn_status pairs_copy(const uint8_t *source, size_t n, const char *out, const struct replaced_pair *replaced,
                     size_t n_replaced, gguf_writer **w, rn_error *err);

#endif
