// tensor/types.h - the table of element types: block length, block size and row conversions.
//
// A row of a tensor has n elements, n a multiple of block_len, stored as n / block_len blocks of
// block_bytes. Layouts and formulas of GGUF's block types: tensor/blocks.h, tensor/k_blocks.h and
// tensor/iq_blocks.h.
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
    TENSOR_TQ1_0, // tensor/iq_blocks.h
    TENSOR_TQ2_0,
    TENSOR_IQ2_XXS,
    TENSOR_IQ2_XS,
    TENSOR_IQ2_S,
    TENSOR_IQ3_XXS,
    TENSOR_IQ3_S,
    TENSOR_IQ1_S,
    TENSOR_IQ1_M,
    TENSOR_Q1_0, // blocks of 128 and 64: tensor/blocks.h
    TENSOR_Q2_0,
    TENSOR_NVFP4,
    TENSOR_N_TYPES
};

struct tensor_type_info {
    enum tensor_type type;
    const char *name;   // "Q4_0"
    uint32_t gguf_id;   // type number in GGUF files
    uint32_t block_len; // elements
    uint32_t block_bytes;
    // Evaluates the published formula in float32. n: a multiple of block_len. src may be unaligned;
    // src and dst do not overlap.
    void (*dequantize_row)(const void *src, float *dst, size_t n);
    // NULL: the type is only read.
    // importance: [n] weights of the elements' errors, >=
    // 0; NULL: all equal, and then Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 are rounded as the reference
    // implementation does it. Otherwise scales are searched (tensor/scale_search.h). Gives the same
    // bytes on every machine. Block types require finite input.
    void (*quantize_row)(const float *src, const float *importance, void *dst, size_t n);
};

const struct tensor_type_info *tensor_type_info(enum tensor_type type);
const struct tensor_type_info *tensor_type_by_gguf_id(uint32_t id);   // NULL: not supported
const struct tensor_type_info *tensor_type_by_name(const char *name); // ignores case; NULL: unknown
// The name of a GGUF type, also of one that is not supported ("Q8_K"); NULL: no such id.
const char *tensor_gguf_id_name(uint32_t id);
// The size in bytes of a row of n elements; false: n is not a multiple of the block length, or the
// size overflows.
bool tensor_row_bytes(enum tensor_type type, uint64_t n, size_t *bytes);

#endif
