// kernels/x86/slots_avx512vnni.h - what the AVX-512 VNNI set does better than avx512.
#ifndef RN_KERNELS_X86_SLOTS_AVX512VNNI_H
#define RN_KERNELS_X86_SLOTS_AVX512VNNI_H

#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/slots_avx512.h"

#define AVX512VNNI_MATMUL(act, type)                                                                                 \
    {"avx512vnni", act, panel_##type##_bytes, avx2_pack_##type, avx512vnni_matmul_##type}
// A type in the panels of another, or of a table.
#define AVX512VNNI_MATMUL_IN(panel, type)                                                                            \
    {"avx512vnni", ACT_Q8_256, panel_##panel##_bytes, panel_##type##_pack, avx512vnni_matmul_##panel}
// The types with blocks of 32 have a second way, for more rows than fit two passes of the first.
#define AVX512VNNI_MATMUL_32_IN(panel, pack)                                                                         \
    {"avx512vnni",                                                                                                   \
     ACT_Q8_32,                                                                                                      \
     panel_##panel##_bytes,                                                                                          \
     pack,                                                                                                           \
     avx512vnni_matmul_##panel,                                                                                      \
     17,                                                                                                             \
     avx512vnni_gemm_scratch,                                                                                        \
     avx512vnni_gemm_##panel}
#define AVX512VNNI_MATMUL_32(type) AVX512VNNI_MATMUL_32_IN(type, avx2_pack_##type)

// clang-format off
#define SLOTS_AVX512VNNI                                                                                      \
    SLOTS_AVX512,                                                                                             \
    .matmul[TENSOR_Q8_0] = AVX512VNNI_MATMUL_32(q8_0),                                                        \
    .matmul[TENSOR_Q4_0] = AVX512VNNI_MATMUL_32(q4_0),                                                        \
    .matmul[TENSOR_Q4_1] = AVX512VNNI_MATMUL_32(q4_1),                                                        \
    .matmul[TENSOR_Q5_0] = AVX512VNNI_MATMUL_32(q5_0),                                                        \
    .matmul[TENSOR_Q5_1] = AVX512VNNI_MATMUL_32(q5_1),                                                        \
    .matmul[TENSOR_IQ4_NL] = AVX512VNNI_MATMUL_32(iq4_nl),                                                    \
    .matmul[TENSOR_MXFP4] = AVX512VNNI_MATMUL_32(mxfp4),                                                      \
    .matmul[TENSOR_Q1_0] = AVX512VNNI_MATMUL_32_IN(q4_0, panel_q1_0_pack),                                    \
    .matmul[TENSOR_Q2_0] = AVX512VNNI_MATMUL_32_IN(q4_0, panel_q2_0_pack),                                    \
    .matmul[TENSOR_Q2_K] = AVX512VNNI_MATMUL(ACT_Q8_256, q2_k),                                               \
    .matmul[TENSOR_Q3_K] = AVX512VNNI_MATMUL(ACT_Q8_256, q3_k),                                               \
    .matmul[TENSOR_Q4_K] = AVX512VNNI_MATMUL(ACT_Q8_256, q4_k),                                               \
    .matmul[TENSOR_Q5_K] = AVX512VNNI_MATMUL(ACT_Q8_256, q5_k),                                               \
    .matmul[TENSOR_Q6_K] = AVX512VNNI_MATMUL(ACT_Q8_256, q6_k),                                               \
    .matmul[TENSOR_IQ4_XS] = AVX512VNNI_MATMUL(ACT_Q8_256, iq4_xs),                                           \
    .matmul[TENSOR_IQ2_XXS] = AVX512VNNI_MATMUL_IN(iq2, iq2_xxs),                                             \
    .matmul[TENSOR_IQ2_XS] = AVX512VNNI_MATMUL_IN(iq2, iq2_xs),                                               \
    .matmul[TENSOR_IQ2_S] = AVX512VNNI_MATMUL_IN(iq2, iq2_s),                                                 \
    .matmul[TENSOR_IQ1_S] = AVX512VNNI_MATMUL_IN(iq1, iq1_s),                                                 \
    .matmul[TENSOR_IQ1_M] = AVX512VNNI_MATMUL_IN(iq1, iq1_m),                                                 \
    .matmul[TENSOR_IQ3_XXS] = AVX512VNNI_MATMUL_IN(iq3_xxs, iq3_xxs),                                         \
    .matmul[TENSOR_IQ3_S] = AVX512VNNI_MATMUL_IN(iq3_s, iq3_s),                                               \
    .matmul[TENSOR_TQ1_0] = AVX512VNNI_MATMUL_IN(q2_k, tq1_0),                                                \
    .matmul[TENSOR_TQ2_0] = AVX512VNNI_MATMUL_IN(q2_k, tq2_0),                                                \
    .int8_probe = avx512vnni_int8_probe
// clang-format on

#endif
