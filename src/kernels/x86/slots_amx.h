// kernels/x86/slots_amx.h - what the AMX (int8 and bf16 tiles) set does better than avx512vnni.
#ifndef RN_KERNELS_X86_SLOTS_AMX_H
#define RN_KERNELS_X86_SLOTS_AMX_H

#include "kernels/x86/amx.h"
#include "kernels/x86/slots_avx512vnni.h"

// From so many rows on tiles are the faster (docs/kernels.md section 6).
#define AMX_GEMM(slot, type, from_rows)                                                                              \
    .matmul[slot].gemm_rows = from_rows, .matmul[slot].gemm_scratch = amx_gemm_##type##_scratch,                     \
    .matmul[slot].gemm = amx_gemm_##type

// clang-format off
#define SLOTS_AMX                                                                   \
    SLOTS_AVX512VNNI,                                                               \
    AMX_GEMM(TENSOR_BF16, bf16, 3),                                                 \
    AMX_GEMM(TENSOR_NVFP4, bf16, 3),                                                \
    AMX_GEMM(TENSOR_Q8_0, q8_0, 17),                                                \
    AMX_GEMM(TENSOR_Q4_0, q4_0, 17),                                                \
    AMX_GEMM(TENSOR_Q4_1, q4_1, 17),                                                \
    AMX_GEMM(TENSOR_Q5_0, q5_0, 17),                                                \
    AMX_GEMM(TENSOR_Q5_1, q5_1, 17),                                                \
    AMX_GEMM(TENSOR_IQ4_NL, iq4_nl, 17),                                            \
    AMX_GEMM(TENSOR_Q1_0, q4_0, 17),                                                \
    AMX_GEMM(TENSOR_Q2_0, q4_0, 17),                                                \
    AMX_GEMM(TENSOR_MXFP4, mxfp4, 17),                                              \
    AMX_GEMM(TENSOR_Q2_K, q2_k, 9),                                                 \
    AMX_GEMM(TENSOR_Q3_K, q3_k, 9),                                                 \
    AMX_GEMM(TENSOR_Q4_K, q4_k, 9),                                                \
    AMX_GEMM(TENSOR_Q5_K, q5_k, 9),                                                \
    AMX_GEMM(TENSOR_Q6_K, q6_k, 9),                                                \
    AMX_GEMM(TENSOR_IQ4_XS, iq4_xs, 9),                                            \
    AMX_GEMM(TENSOR_IQ2_XXS, iq2, 9),                                               \
    AMX_GEMM(TENSOR_IQ2_XS, iq2, 9),                                                \
    AMX_GEMM(TENSOR_IQ2_S, iq2, 9),                                                 \
    AMX_GEMM(TENSOR_IQ1_S, iq1, 9),                                                 \
    AMX_GEMM(TENSOR_IQ1_M, iq1, 9),                                                 \
    AMX_GEMM(TENSOR_IQ3_XXS, iq3_xxs, 9),                                           \
    AMX_GEMM(TENSOR_IQ3_S, iq3_s, 9),                                               \
    AMX_GEMM(TENSOR_TQ1_0, q2_k, 9),                                                \
    AMX_GEMM(TENSOR_TQ2_0, q2_k, 9),                                                \
    .kv[KV_BF16].attend = amx_kv_bf16_attend
// clang-format on

#endif
