// convert/copy_pairs.h - the pairs of a quantized file: those of its source as they stand there, with what is no longer true replaced.
#ifndef RN_CONVERT_COPY_PAIRS_H
#define RN_CONVERT_COPY_PAIRS_H

#include "formats/gguf/gguf_write.h"

enum { GGUF_QUANTIZATION_VERSION = 2 }; // of the block layouts: general.quantization_version

enum { MAX_REPLACED_PAIRS = 8 };
struct replaced_pair {
    char key[128];
    uint32_t value;
};

// source: the bytes of the GGUF file, or of its first part. replaced: pairs that stand in for those of their keys, or come behind them all.
// Errors: those of gguf_read().
rn_status pairs_copy(const uint8_t *source, size_t n, const char *out, const struct replaced_pair *replaced,
                     size_t n_replaced, gguf_writer **w, rn_error *err);

#endif
