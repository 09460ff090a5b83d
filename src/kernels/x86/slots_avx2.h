// kernels/x86/slots_avx2.h - what the AVX2 set fills in the table; the sets above it begin with these slots.
#ifndef RN_KERNELS_X86_SLOTS_AVX2_H
#define RN_KERNELS_X86_SLOTS_AVX2_H

#include "kernels/panels/panel_iq.h"
#include "kernels/ref/slots_ref.h"
#include "kernels/x86/avx2.h"

#define AVX2_MATMUL(act, type) {"avx2", act, panel_##type##_bytes, avx2_pack_##type, avx2_matmul_##type}
#define AVX2_GEMM(act, block, type, from)                                                                            \
    {"avx2",                                                                                                         \
     act,                                                                                                            \
     panel_##type##_bytes,                                                                                           \
     avx2_pack_##type,                                                                                               \
     avx2_matmul_##type,                                                                                             \
     from,                                                                                                           \
     avx2_gemm_##block##_scratch,                                                                                    \
     avx2_gemm_##type}

// A type in the panels of another, or of a table.
#define AVX2_GEMM_IN(length, panel, type, from)                                                                      \
    {"avx2",                                                                                                         \
     ACT_Q8_##length,                                                                                                \
     panel_##panel##_bytes,                                                                                          \
     panel_##type##_pack,                                                                                            \
     avx2_matmul_##panel,                                                                                            \
     from,                                                                                                           \
     avx2_gemm_##length##_scratch,                                                                                   \
     avx2_gemm_##panel}

// clang-format off
#define SLOTS_AVX2                                                                                            \
    SLOTS_REF,                                                                                                \
    .matmul[TENSOR_F32] = AVX2_MATMUL(ACT_F32, f32),                                                          \
    .matmul[TENSOR_F16] = AVX2_MATMUL(ACT_F32, f16),                                                          \
    .matmul[TENSOR_BF16] = AVX2_MATMUL(ACT_BF16, bf16),                                                       \
    .matmul[TENSOR_Q8_0] = AVX2_GEMM(ACT_Q8_32, 32, q8_0, 4),                                                 \
    .matmul[TENSOR_Q4_0] = AVX2_GEMM(ACT_Q8_32, 32, q4_0, 16),                                                \
    .matmul[TENSOR_Q4_1] = AVX2_MATMUL(ACT_Q8_32, q4_1),                                                      \
    .matmul[TENSOR_Q5_0] = AVX2_GEMM(ACT_Q8_32, 32, q5_0, 4),                                                 \
    .matmul[TENSOR_Q5_1] = AVX2_GEMM(ACT_Q8_32, 32, q5_1, 4),                                                 \
    .matmul[TENSOR_IQ4_NL] = AVX2_GEMM(ACT_Q8_32, 32, iq4_nl, 4),                                             \
    .matmul[TENSOR_MXFP4] = AVX2_GEMM(ACT_Q8_32, 32, mxfp4, 4),                                               \
    .matmul[TENSOR_Q2_K] = AVX2_GEMM(ACT_Q8_256, 256, q2_k, 8),                                               \
    .matmul[TENSOR_Q3_K] = AVX2_GEMM(ACT_Q8_256, 256, q3_k, 4),                                               \
    .matmul[TENSOR_Q4_K] = AVX2_GEMM(ACT_Q8_256, 256, q4_k, 6),                                               \
    .matmul[TENSOR_Q5_K] = AVX2_GEMM(ACT_Q8_256, 256, q5_k, 8),                                               \
    .matmul[TENSOR_Q6_K] = AVX2_GEMM(ACT_Q8_256, 256, q6_k, 4),                                               \
    .matmul[TENSOR_IQ4_XS] = AVX2_GEMM(ACT_Q8_256, 256, iq4_xs, 8),                                           \
    .matmul[TENSOR_IQ2_XXS] = AVX2_GEMM_IN(256, iq2, iq2_xxs, 8),                                             \
    .matmul[TENSOR_IQ2_XS] = AVX2_GEMM_IN(256, iq2, iq2_xs, 8),                                               \
    .matmul[TENSOR_IQ2_S] = AVX2_GEMM_IN(256, iq2, iq2_s, 8),                                                 \
    .matmul[TENSOR_IQ1_S] = AVX2_GEMM_IN(256, iq1, iq1_s, 4),                                                 \
    .matmul[TENSOR_IQ1_M] = AVX2_GEMM_IN(256, iq1, iq1_m, 4),                                                 \
    .matmul[TENSOR_IQ3_XXS] = AVX2_GEMM_IN(256, iq3_xxs, iq3_xxs, 8),                                         \
    .matmul[TENSOR_IQ3_S] = AVX2_GEMM_IN(256, iq3_s, iq3_s, 8),                                               \
    .matmul[TENSOR_TQ1_0] = AVX2_GEMM_IN(256, q2_k, tq1_0, 8),                                                \
    .matmul[TENSOR_TQ2_0] = AVX2_GEMM_IN(256, q2_k, tq2_0, 8),                                                \
    .matmul[TENSOR_Q1_0] = AVX2_GEMM_IN(32, q4_0, q1_0, 16),                                                  \
    .matmul[TENSOR_Q2_0] = AVX2_GEMM_IN(32, q4_0, q2_0, 16),                                                  \
    .matmul[TENSOR_NVFP4] = {"avx2", ACT_BF16, panel_bf16_bytes, panel_nvfp4_pack, avx2_matmul_bf16},         \
    .prepare_act[ACT_BF16] = avx2_prepare_bf16,                                                               \
    .prepare_act[ACT_Q8_32] = avx2_prepare_q8_32,                                                             \
    .prepare_act[ACT_Q8_256] = avx2_prepare_q8_256,                                                           \
    .kv[KV_F16].put_value = avx2_kv_f16_put_value,                                                            \
    .kv[KV_F16].get_keys = avx2_kv_f16_get_keys,                                                              \
    .kv[KV_F16].get_values = avx2_kv_f16_get_values,                                                          \
    .kv[KV_Q8].get_keys = avx2_kv_q8_get_keys,                                                                \
    .kv[KV_Q8].get_values = avx2_kv_q8_get_values,                                                            \
    .kv[KV_F16].attend = avx2_kv_f16_attend,                                                                  \
    .kv[KV_F32].attend = avx2_kv_f32_attend,                                                                  \
    .kv[KV_Q8].attend = avx2_kv_q8_attend,                                                                    \
    .kv[KV_BF16].attend = avx2_kv_bf16_attend,                                                                \
    .row = {avx2_row_max, avx2_row_sum_squares, avx2_row_sum_exp, avx2_row_exp, avx2_row_select_ge,        \
            avx2_row_select_between, avx2_row_weigh, avx2_row_mask},                                           \
    .rms_norm = avx2_rms_norm, .layer_norm = avx2_layer_norm, .softmax = avx2_softmax, .add = avx2_add,       \
    .add_scaled = avx2_add_scaled, .scale = avx2_scale, .mul = avx2_mul, .softcap = avx2_softcap,             \
    .activate = ACT_FNS(avx2_activate), .activate_mul = ACT_FNS(avx2_activate_mul),                           \
    RECUR(avx2), .swiglu_oai = avx2_swiglu_oai, .xielu = avx2_xielu, .rope = avx2_rope, .rope_halves = avx2_rope_halves,                        \
    .attend_merge = avx2_attend_merge, .attend_finish = avx2_attend_finish, .int8_probe = avx2_int8_probe
// clang-format on

#endif
