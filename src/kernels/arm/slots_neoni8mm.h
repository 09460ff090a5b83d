// kernels/arm/slots_neoni8mm.h - what the NEON 8-bit matrix product set does better than neondot: many rows at a time.
#ifndef RN_KERNELS_ARM_SLOTS_NEONI8MM_H
#define RN_KERNELS_ARM_SLOTS_NEONI8MM_H

#include "kernels/arm/neoni8mm.h"
#include "kernels/arm/slots_neondot.h"

// From two passes of the tiles below on: a count of instructions, not a measurement (docs/kernels.md).
#define NEONI8MM_GEMM_ROWS 8
#define NEONI8MM_MATMUL(act, block, type)                                                                            \
    {"neoni8mm",                                                                                                     \
     act,                                                                                                            \
     panel_##type##_bytes,                                                                                           \
     panel_##type##_pack,                                                                                            \
     neondot_matmul_##type,                                                                                          \
     NEONI8MM_GEMM_ROWS,                                                                                             \
     neoni8mm_gemm_scratch_##block,                                                                                  \
     neoni8mm_gemm_##type}

#define NEONI8MM_MATMUL_IN(length, panel, type)                                                                      \
    {"neoni8mm",                                                                                                     \
     ACT_Q8_##length,                                                                                                \
     panel_##panel##_bytes,                                                                                          \
     panel_##type##_pack,                                                                                            \
     neondot_matmul_##panel,                                                                                         \
     NEONI8MM_GEMM_ROWS,                                                                                             \
     neoni8mm_gemm_scratch_##length,                                                                                 \
     neoni8mm_gemm_##panel}

// clang-format off
#define SLOTS_NEONI8MM                                                                                        \
    SLOTS_NEONDOT,                                                                                            \
    .matmul[TENSOR_Q8_0] = NEONI8MM_MATMUL(ACT_Q8_32, 32, q8_0),                                              \
    .matmul[TENSOR_Q4_0] = NEONI8MM_MATMUL(ACT_Q8_32, 32, q4_0),                                              \
    .matmul[TENSOR_Q4_1] = NEONI8MM_MATMUL(ACT_Q8_32, 32, q4_1),                                              \
    .matmul[TENSOR_Q5_0] = NEONI8MM_MATMUL(ACT_Q8_32, 32, q5_0),                                              \
    .matmul[TENSOR_Q5_1] = NEONI8MM_MATMUL(ACT_Q8_32, 32, q5_1),                                              \
    .matmul[TENSOR_IQ4_NL] = NEONI8MM_MATMUL(ACT_Q8_32, 32, iq4_nl),                                          \
    .matmul[TENSOR_MXFP4] = NEONI8MM_MATMUL(ACT_Q8_32, 32, mxfp4),                                            \
    .matmul[TENSOR_Q2_K] = NEONI8MM_MATMUL(ACT_Q8_256, 256, q2_k),                                            \
    .matmul[TENSOR_Q3_K] = NEONI8MM_MATMUL(ACT_Q8_256, 256, q3_k),                                            \
    .matmul[TENSOR_Q4_K] = NEONI8MM_MATMUL(ACT_Q8_256, 256, q4_k),                                            \
    .matmul[TENSOR_Q5_K] = NEONI8MM_MATMUL(ACT_Q8_256, 256, q5_k),                                            \
    .matmul[TENSOR_Q6_K] = NEONI8MM_MATMUL(ACT_Q8_256, 256, q6_k),                                            \
    .matmul[TENSOR_IQ4_XS] = NEONI8MM_MATMUL(ACT_Q8_256, 256, iq4_xs),                                        \
    .matmul[TENSOR_IQ2_XXS] = NEONI8MM_MATMUL_IN(256, iq2, iq2_xxs),                                          \
    .matmul[TENSOR_IQ2_XS] = NEONI8MM_MATMUL_IN(256, iq2, iq2_xs),                                            \
    .matmul[TENSOR_IQ2_S] = NEONI8MM_MATMUL_IN(256, iq2, iq2_s),                                              \
    .matmul[TENSOR_IQ1_S] = NEONI8MM_MATMUL_IN(256, iq1, iq1_s),                                              \
    .matmul[TENSOR_IQ1_M] = NEONI8MM_MATMUL_IN(256, iq1, iq1_m),                                              \
    .matmul[TENSOR_IQ3_XXS] = NEONI8MM_MATMUL_IN(256, iq3_xxs, iq3_xxs),                                      \
    .matmul[TENSOR_IQ3_S] = NEONI8MM_MATMUL_IN(256, iq3_s, iq3_s),                                            \
    .matmul[TENSOR_TQ1_0] = NEONI8MM_MATMUL_IN(256, q2_k, tq1_0),                                             \
    .matmul[TENSOR_TQ2_0] = NEONI8MM_MATMUL_IN(256, q2_k, tq2_0),                                             \
    .matmul[TENSOR_Q1_0] = NEONI8MM_MATMUL_IN(32, q4_0, q1_0),                                                \
    .matmul[TENSOR_Q2_0] = NEONI8MM_MATMUL_IN(32, q4_0, q2_0),                                                \
    .int8_probe = neoni8mm_int8_probe
// clang-format on

#endif
