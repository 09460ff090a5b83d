// kernels/arm/slots_neondot.h - what the NEON dot product set does better than neon.
#ifndef RN_KERNELS_ARM_SLOTS_NEONDOT_H
#define RN_KERNELS_ARM_SLOTS_NEONDOT_H

#include "kernels/arm/neondot.h"
#include "kernels/arm/slots_neon.h"

#define NEONDOT_MATMUL(act, type) {"neondot", act, panel_##type##_bytes, panel_##type##_pack, neondot_matmul_##type}

#define NEONDOT_MATMUL_IN(length, panel, type)                                                                       \
    {"neondot", ACT_Q8_##length, panel_##panel##_bytes, panel_##type##_pack, neondot_matmul_##panel}

// clang-format off
#define SLOTS_NEONDOT                                                                                         \
    SLOTS_NEON,                                                                                               \
    .matmul[TENSOR_Q8_0] = NEONDOT_MATMUL(ACT_Q8_32, q8_0),                                                   \
    .matmul[TENSOR_Q4_0] = NEONDOT_MATMUL(ACT_Q8_32, q4_0),                                                   \
    .matmul[TENSOR_Q4_1] = NEONDOT_MATMUL(ACT_Q8_32, q4_1),                                                   \
    .matmul[TENSOR_Q5_0] = NEONDOT_MATMUL(ACT_Q8_32, q5_0),                                                   \
    .matmul[TENSOR_Q5_1] = NEONDOT_MATMUL(ACT_Q8_32, q5_1),                                                   \
    .matmul[TENSOR_IQ4_NL] = NEONDOT_MATMUL(ACT_Q8_32, iq4_nl),                                               \
    .matmul[TENSOR_MXFP4] = NEONDOT_MATMUL(ACT_Q8_32, mxfp4),                                                 \
    .matmul[TENSOR_Q2_K] = NEONDOT_MATMUL(ACT_Q8_256, q2_k),                                                  \
    .matmul[TENSOR_Q3_K] = NEONDOT_MATMUL(ACT_Q8_256, q3_k),                                                  \
    .matmul[TENSOR_Q4_K] = NEONDOT_MATMUL(ACT_Q8_256, q4_k),                                                  \
    .matmul[TENSOR_Q5_K] = NEONDOT_MATMUL(ACT_Q8_256, q5_k),                                                  \
    .matmul[TENSOR_Q6_K] = NEONDOT_MATMUL(ACT_Q8_256, q6_k),                                                  \
    .matmul[TENSOR_IQ4_XS] = NEONDOT_MATMUL(ACT_Q8_256, iq4_xs),                                              \
    .matmul[TENSOR_IQ2_XXS] = NEONDOT_MATMUL_IN(256, iq2, iq2_xxs),                                           \
    .matmul[TENSOR_IQ2_XS] = NEONDOT_MATMUL_IN(256, iq2, iq2_xs),                                             \
    .matmul[TENSOR_IQ2_S] = NEONDOT_MATMUL_IN(256, iq2, iq2_s),                                               \
    .matmul[TENSOR_IQ1_S] = NEONDOT_MATMUL_IN(256, iq1, iq1_s),                                               \
    .matmul[TENSOR_IQ1_M] = NEONDOT_MATMUL_IN(256, iq1, iq1_m),                                               \
    .matmul[TENSOR_IQ3_XXS] = NEONDOT_MATMUL_IN(256, iq3_xxs, iq3_xxs),                                       \
    .matmul[TENSOR_IQ3_S] = NEONDOT_MATMUL_IN(256, iq3_s, iq3_s),                                             \
    .matmul[TENSOR_TQ1_0] = NEONDOT_MATMUL_IN(256, q2_k, tq1_0),                                              \
    .matmul[TENSOR_TQ2_0] = NEONDOT_MATMUL_IN(256, q2_k, tq2_0),                                              \
    .matmul[TENSOR_Q1_0] = NEONDOT_MATMUL_IN(32, q4_0, q1_0),                                                 \
    .matmul[TENSOR_Q2_0] = NEONDOT_MATMUL_IN(32, q4_0, q2_0),                                                 \
    .int8_probe = neondot_int8_probe
// clang-format on

#endif
