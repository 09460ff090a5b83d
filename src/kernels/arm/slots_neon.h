// kernels/arm/slots_neon.h - what the NEON set fills in the table; the sets above it begin with these slots.
#ifndef RN_KERNELS_ARM_SLOTS_NEON_H
#define RN_KERNELS_ARM_SLOTS_NEON_H

#include "kernels/arm/neon.h"
#include "kernels/panels/panel_iq.h"
#include "kernels/ref/slots_ref.h"

#define NEON_MATMUL(act, type) {"neon", act, panel_##type##_bytes, panel_##type##_pack, neon_matmul_##type}

// A type in the panels of another, or of a table.
#define NEON_MATMUL_IN(length, panel, type)                                                                          \
    {"neon", ACT_Q8_##length, panel_##panel##_bytes, panel_##type##_pack, neon_matmul_##panel}

// clang-format off
#define SLOTS_NEON                                                                                            \
    SLOTS_REF,                                                                                                \
    .matmul[TENSOR_F32] = NEON_MATMUL(ACT_F32, f32),                                                          \
    .matmul[TENSOR_F16] = NEON_MATMUL(ACT_F32, f16),                                                          \
    .matmul[TENSOR_BF16] = NEON_MATMUL(ACT_BF16, bf16),                                                       \
    .matmul[TENSOR_Q8_0] = NEON_MATMUL(ACT_Q8_32, q8_0),                                                      \
    .matmul[TENSOR_Q4_0] = NEON_MATMUL(ACT_Q8_32, q4_0),                                                      \
    .matmul[TENSOR_Q4_1] = NEON_MATMUL(ACT_Q8_32, q4_1),                                                      \
    .matmul[TENSOR_Q5_0] = NEON_MATMUL(ACT_Q8_32, q5_0),                                                      \
    .matmul[TENSOR_Q5_1] = NEON_MATMUL(ACT_Q8_32, q5_1),                                                      \
    .matmul[TENSOR_IQ4_NL] = NEON_MATMUL(ACT_Q8_32, iq4_nl),                                                  \
    .matmul[TENSOR_MXFP4] = NEON_MATMUL(ACT_Q8_32, mxfp4),                                                    \
    .matmul[TENSOR_Q2_K] = NEON_MATMUL(ACT_Q8_256, q2_k),                                                     \
    .matmul[TENSOR_Q3_K] = NEON_MATMUL(ACT_Q8_256, q3_k),                                                     \
    .matmul[TENSOR_Q4_K] = NEON_MATMUL(ACT_Q8_256, q4_k),                                                     \
    .matmul[TENSOR_Q5_K] = NEON_MATMUL(ACT_Q8_256, q5_k),                                                     \
    .matmul[TENSOR_Q6_K] = NEON_MATMUL(ACT_Q8_256, q6_k),                                                     \
    .matmul[TENSOR_IQ4_XS] = NEON_MATMUL(ACT_Q8_256, iq4_xs),                                                 \
    .matmul[TENSOR_IQ2_XXS] = NEON_MATMUL_IN(256, iq2, iq2_xxs),                                              \
    .matmul[TENSOR_IQ2_XS] = NEON_MATMUL_IN(256, iq2, iq2_xs),                                                \
    .matmul[TENSOR_IQ2_S] = NEON_MATMUL_IN(256, iq2, iq2_s),                                                  \
    .matmul[TENSOR_IQ1_S] = NEON_MATMUL_IN(256, iq1, iq1_s),                                                  \
    .matmul[TENSOR_IQ1_M] = NEON_MATMUL_IN(256, iq1, iq1_m),                                                  \
    .matmul[TENSOR_IQ3_XXS] = NEON_MATMUL_IN(256, iq3_xxs, iq3_xxs),                                          \
    .matmul[TENSOR_IQ3_S] = NEON_MATMUL_IN(256, iq3_s, iq3_s),                                                \
    .matmul[TENSOR_TQ1_0] = NEON_MATMUL_IN(256, q2_k, tq1_0),                                                 \
    .matmul[TENSOR_TQ2_0] = NEON_MATMUL_IN(256, q2_k, tq2_0),                                                 \
    .matmul[TENSOR_Q1_0] = NEON_MATMUL_IN(32, q4_0, q1_0),                                                    \
    .matmul[TENSOR_Q2_0] = NEON_MATMUL_IN(32, q4_0, q2_0),                                                    \
    .matmul[TENSOR_NVFP4] = {"neon", ACT_BF16, panel_bf16_bytes, panel_nvfp4_pack, neon_matmul_bf16},         \
    .prepare_act[ACT_BF16] = neon_prepare_bf16,                                                               \
    .prepare_act[ACT_Q8_32] = neon_prepare_q8_32,                                                             \
    .prepare_act[ACT_Q8_256] = neon_prepare_q8_256,                                                           \
    .kv[KV_F16].put_value = neon_kv_f16_put_value,                                                            \
    .kv[KV_F16].get_keys = neon_kv_f16_get_keys,                                                              \
    .kv[KV_F16].get_values = neon_kv_f16_get_values,                                                          \
    .kv[KV_Q8].get_keys = neon_kv_q8_get_keys,                                                                \
    .kv[KV_Q8].get_values = neon_kv_q8_get_values,                                                            \
    .kv[KV_F16].attend = neon_kv_f16_attend,                                                                  \
    .kv[KV_F32].attend = neon_kv_f32_attend,                                                                  \
    .kv[KV_Q8].attend = neon_kv_q8_attend,                                                                    \
    .kv[KV_BF16].attend = neon_kv_bf16_attend,                                                                \
    .row = {neon_row_max, neon_row_sum_squares, neon_row_sum_exp, neon_row_exp, neon_row_select_ge,           \
            neon_row_select_between, neon_row_weigh, neon_row_mask},                                              \
    .rms_norm = neon_rms_norm, .add = neon_add, .activate_mul[ACT_FN_SILU] = neon_activate_mul_silu,          \
    .rope = neon_rope,                                                                                       \
    .attend_merge = neon_attend_merge, .attend_finish = neon_attend_finish, .int8_probe = neon_int8_probe
// clang-format on

#endif
