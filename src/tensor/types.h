// tensor/types.h - element types as rows of one table: how long a block is, how many bytes it takes, how rows convert.
//
// A row of a tensor is n elements, n a multiple of block_len, stored as n / block_len blocks of block_bytes.
// Layouts: the published GGUF block types, each with its formula above its code.
// Threads: pure functions over a constant table.
#ifndef RN_TENSOR_TYPES_H
#define RN_TENSOR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tensor_type {
    TENSOR_F32,
    TENSOR_F16,
    TENSOR_BF16,
    TENSOR_Q8_0, // blocks of 32: tensor/blocks.h
    TENSOR_Q4_0,
    TENSOR_Q4_1,
    TENSOR_Q5_0,
    TENSOR_Q5_1,
    TENSOR_IQ4_NL,
    TENSOR_MXFP4,
    TENSOR_Q2_K, // blocks of 256: tensor/k_blocks.h
    TENSOR_Q3_K,
    TENSOR_Q4_K,
    TENSOR_Q5_K,
    TENSOR_Q6_K,
    TENSOR_IQ4_XS,
    TENSOR_N_TYPES
};

struct tensor_type_info {
    enum tensor_type type;
    const char *name;   // as people write it: "Q4_0"
    uint32_t gguf_id;   // number in GGUF files
    uint32_t block_len; // elements
    uint32_t block_bytes;
    // n % block_len == 0. dequantize: exactly the published formula in float32. src may be unaligned; no overlap.
    void (*dequantize_row)(const void *src, float *dst, size_t n);
    // NULL: a type that is read but not written. importance: [n] how much an error of each element matters, >= 0; NULL: all
    // alike, and then Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 are rounded by the published rule of the reference implementation.
    // Otherwise scales are searched (tensor/scale_search.h). The same bytes on every machine. A non-finite input is the
    // caller's bug for block types.
    void (*quantize_row)(const float *src, const float *importance, void *dst, size_t n);
};

const struct tensor_type_info *tensor_type_info(enum tensor_type type);
const struct tensor_type_info *tensor_type_by_gguf_id(uint32_t id);   // NULL: not one that is read here
const struct tensor_type_info *tensor_type_by_name(const char *name); // without regard to case; NULL: unknown
// "IQ2_XXS" also for types that are known but not read here; NULL: no such id.
const char *tensor_gguf_id_name(uint32_t id);
// Bytes of a row of n elements; false: n is no multiple of the block, or overflow.
bool tensor_row_bytes(enum tensor_type type, uint64_t n, size_t *bytes);

#endif
