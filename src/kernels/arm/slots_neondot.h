// kernels/arm/slots_neondot.h - what the NEON dot product set does better than neon.
#ifndef RN_KERNELS_ARM_SLOTS_NEONDOT_H
#define RN_KERNELS_ARM_SLOTS_NEONDOT_H

#include "kernels/arm/neondot.h"
#include "kernels/arm/slots_neon.h"

#define NEONDOT_MATMUL(act, type) {"neondot", act, panel_##type##_bytes, panel_##type##_pack, neondot_matmul_##type}

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
    .int8_probe = neondot_int8_probe
// clang-format on

#endif
