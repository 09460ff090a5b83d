// tensor/types.c - the table of element types, and the names of GGUF's types.
#include "tensor/types.h"
#include "base/checked.h"
#include "tensor/iq_blocks.h"
#include "tensor/rows.h"
#include <strings.h>

static const struct tensor_type_info types[TENSOR_N_TYPES] = {
    [TENSOR_F32] = {TENSOR_F32, "F32", 0, 1, 4, f32_dequantize_row, f32_quantize_row},
    [TENSOR_F16] = {TENSOR_F16, "F16", 1, 1, 2, f16_dequantize_row, f16_quantize_row},
    [TENSOR_BF16] = {TENSOR_BF16, "BF16", 30, 1, 2, bf16_dequantize_row, bf16_quantize_row},
    [TENSOR_Q8_0] = {TENSOR_Q8_0, "Q8_0", 8, BLOCK_32, Q8_0_BYTES, q8_0_dequantize_row, q8_0_quantize_row},
    [TENSOR_Q4_0] = {TENSOR_Q4_0, "Q4_0", 2, BLOCK_32, Q4_0_BYTES, q4_0_dequantize_row, q4_0_quantize_row},
    [TENSOR_Q4_1] = {TENSOR_Q4_1, "Q4_1", 3, BLOCK_32, Q4_1_BYTES, q4_1_dequantize_row, q4_1_quantize_row},
    [TENSOR_Q5_0] = {TENSOR_Q5_0, "Q5_0", 6, BLOCK_32, Q5_0_BYTES, q5_0_dequantize_row, q5_0_quantize_row},
    [TENSOR_Q5_1] = {TENSOR_Q5_1, "Q5_1", 7, BLOCK_32, Q5_1_BYTES, q5_1_dequantize_row, q5_1_quantize_row},
    [TENSOR_IQ4_NL] = {TENSOR_IQ4_NL, "IQ4_NL", 20, BLOCK_32, IQ4_NL_BYTES, iq4_nl_dequantize_row,
                       iq4_nl_quantize_row},
    [TENSOR_MXFP4] = {TENSOR_MXFP4, "MXFP4", 39, BLOCK_32, MXFP4_BYTES, mxfp4_dequantize_row, mxfp4_quantize_row},
    [TENSOR_Q2_K] = {TENSOR_Q2_K, "Q2_K", 10, BLOCK_256, Q2_K_BYTES, q2_k_dequantize_row, q2_k_quantize_row},
    [TENSOR_Q3_K] = {TENSOR_Q3_K, "Q3_K", 11, BLOCK_256, Q3_K_BYTES, q3_k_dequantize_row, q3_k_quantize_row},
    [TENSOR_Q4_K] = {TENSOR_Q4_K, "Q4_K", 12, BLOCK_256, Q4_K_BYTES, q4_k_dequantize_row, q4_k_quantize_row},
    [TENSOR_Q5_K] = {TENSOR_Q5_K, "Q5_K", 13, BLOCK_256, Q5_K_BYTES, q5_k_dequantize_row, q5_k_quantize_row},
    [TENSOR_Q6_K] = {TENSOR_Q6_K, "Q6_K", 14, BLOCK_256, Q6_K_BYTES, q6_k_dequantize_row, q6_k_quantize_row},
    [TENSOR_IQ4_XS] = {TENSOR_IQ4_XS, "IQ4_XS", 23, BLOCK_256, IQ4_XS_BYTES, iq4_xs_dequantize_row,
                       iq4_xs_quantize_row},
    [TENSOR_TQ1_0] = {TENSOR_TQ1_0, "TQ1_0", 34, BLOCK_256, TQ1_0_BYTES, tq1_0_dequantize_row, tq1_0_quantize_row},
    [TENSOR_TQ2_0] = {TENSOR_TQ2_0, "TQ2_0", 35, BLOCK_256, TQ2_0_BYTES, tq2_0_dequantize_row, tq2_0_quantize_row},
    [TENSOR_IQ2_XXS] = {TENSOR_IQ2_XXS, "IQ2_XXS", 16, BLOCK_256, IQ2_XXS_BYTES, iq2_xxs_dequantize_row,
                        iq2_xxs_quantize_row},
    [TENSOR_IQ2_XS] = {TENSOR_IQ2_XS, "IQ2_XS", 17, BLOCK_256, IQ2_XS_BYTES, iq2_xs_dequantize_row,
                       iq2_xs_quantize_row},
    [TENSOR_IQ2_S] = {TENSOR_IQ2_S, "IQ2_S", 22, BLOCK_256, IQ2_S_BYTES, iq2_s_dequantize_row, iq2_s_quantize_row},
    [TENSOR_IQ3_XXS] = {TENSOR_IQ3_XXS, "IQ3_XXS", 18, BLOCK_256, IQ3_XXS_BYTES, iq3_xxs_dequantize_row,
                        iq3_xxs_quantize_row},
    [TENSOR_IQ3_S] = {TENSOR_IQ3_S, "IQ3_S", 21, BLOCK_256, IQ3_S_BYTES, iq3_s_dequantize_row, iq3_s_quantize_row},
    [TENSOR_IQ1_S] = {TENSOR_IQ1_S, "IQ1_S", 19, BLOCK_256, IQ1_S_BYTES, iq1_s_dequantize_row, iq1_s_quantize_row},
    [TENSOR_IQ1_M] = {TENSOR_IQ1_M, "IQ1_M", 29, BLOCK_256, IQ1_M_BYTES, iq1_m_dequantize_row, iq1_m_quantize_row},
    [TENSOR_Q1_0] = {TENSOR_Q1_0, "Q1_0", 41, Q1_0_LEN, Q1_0_BYTES, q1_0_dequantize_row, q1_0_quantize_row},
    [TENSOR_Q2_0] = {TENSOR_Q2_0, "Q2_0", 42, Q2_0_LEN, Q2_0_BYTES, q2_0_dequantize_row, q2_0_quantize_row},
    [TENSOR_NVFP4] = {TENSOR_NVFP4, "NVFP4", 40, NVFP4_LEN, NVFP4_BYTES, nvfp4_dequantize_row, NULL},
};

// By type number in GGUF files. The gaps (4, 5, 31 to 33, 36 to 38) are types that were removed from the format.
static const char *const gguf_names[] = {
    [0] = "F32",     [1] = "F16",    [2] = "Q4_0",     [3] = "Q4_1",    [6] = "Q5_0",     [7] = "Q5_1",
    [8] = "Q8_0",    [9] = "Q8_1",   [10] = "Q2_K",    [11] = "Q3_K",   [12] = "Q4_K",    [13] = "Q5_K",
    [14] = "Q6_K",   [15] = "Q8_K",  [16] = "IQ2_XXS", [17] = "IQ2_XS", [18] = "IQ3_XXS", [19] = "IQ1_S",
    [20] = "IQ4_NL", [21] = "IQ3_S", [22] = "IQ2_S",   [23] = "IQ4_XS", [24] = "I8",      [25] = "I16",
    [26] = "I32",    [27] = "I64",   [28] = "F64",     [29] = "IQ1_M",  [30] = "BF16",    [34] = "TQ1_0",
    [35] = "TQ2_0",  [39] = "MXFP4", [40] = "NVFP4",   [41] = "Q1_0",   [42] = "Q2_0",
};

const struct tensor_type_info *tensor_type_info(enum tensor_type type) { return &types[type]; }

const struct tensor_type_info *tensor_type_by_gguf_id(uint32_t id) {
    for (int t = 0; t < TENSOR_N_TYPES; t++)
        if (types[t].gguf_id == id) return &types[t];
    return NULL;
}

const struct tensor_type_info *tensor_type_by_name(const char *name) {
    for (int t = 0; t < TENSOR_N_TYPES; t++)
        if (strcasecmp(types[t].name, name) == 0) return &types[t];
    return NULL;
}

const char *tensor_gguf_id_name(uint32_t id) {
    return id < sizeof gguf_names / sizeof *gguf_names ? gguf_names[id] : NULL;
}

bool tensor_row_bytes(enum tensor_type type, uint64_t n, size_t *bytes) {
    const struct tensor_type_info *t = &types[type];
    if (n % t->block_len != 0 || n / t->block_len > SIZE_MAX) return false;
    return size_mul((size_t)(n / t->block_len), t->block_bytes, bytes);
}
