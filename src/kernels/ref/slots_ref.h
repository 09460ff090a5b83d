// kernels/ref/slots_ref.h - the slots of the reference, which fills the whole table. Other sets
// start with these slots.
#ifndef RN_KERNELS_REF_SLOTS_REF_H
#define RN_KERNELS_REF_SLOTS_REF_H

#include "kernels/ref/ref.h"

#define REF_MATMUL(format, type) {"ref", .act = format, .matmul = ref_matmul_##type}
#define REF_KV(format, codec)                                                                                        \
    {format,                                                                                                         \
     ref_kv_##codec##_key_bytes,                                                                                     \
     ref_kv_##codec##_value_bytes,                                                                                   \
     ref_kv_##codec##_put_key,                                                                                       \
     ref_kv_##codec##_put_value,                                                                                     \
     ref_kv_##codec##_copy_key,                                                                                      \
     ref_kv_##codec##_copy_value,                                                                                    \
     ref_kv_##codec##_get_keys,                                                                                      \
     ref_kv_##codec##_get_values,                                                                                    \
     ref_kv_##codec##_attend}

// clang-format off
#define SLOTS_REF                                                                                          \
    .matmul[TENSOR_F32] = REF_MATMUL(ACT_F32, f32),                                                        \
    .matmul[TENSOR_F16] = REF_MATMUL(ACT_F32, f16),                                                        \
    .matmul[TENSOR_BF16] = REF_MATMUL(ACT_BF16, bf16),                                                     \
    .matmul[TENSOR_Q8_0] = REF_MATMUL(ACT_Q8_32, q8_0),                                                    \
    .matmul[TENSOR_Q4_0] = REF_MATMUL(ACT_Q8_32, q4_0),                                                    \
    .matmul[TENSOR_Q4_1] = REF_MATMUL(ACT_Q8_32, q4_1),                                                    \
    .matmul[TENSOR_Q5_0] = REF_MATMUL(ACT_Q8_32, q5_0),                                                    \
    .matmul[TENSOR_Q5_1] = REF_MATMUL(ACT_Q8_32, q5_1),                                                    \
    .matmul[TENSOR_IQ4_NL] = REF_MATMUL(ACT_Q8_32, iq4_nl),                                                \
    .matmul[TENSOR_MXFP4] = REF_MATMUL(ACT_Q8_32, mxfp4),                                                  \
    .matmul[TENSOR_Q1_0] = REF_MATMUL(ACT_Q8_32, q1_0),                                                    \
    .matmul[TENSOR_Q2_0] = REF_MATMUL(ACT_Q8_32, q2_0),                                                    \
    .matmul[TENSOR_NVFP4] = REF_MATMUL(ACT_BF16, nvfp4),                                                   \
    .matmul[TENSOR_Q2_K] = REF_MATMUL(ACT_Q8_256, q2_k),                                                   \
    .matmul[TENSOR_Q3_K] = REF_MATMUL(ACT_Q8_256, q3_k),                                                   \
    .matmul[TENSOR_Q4_K] = REF_MATMUL(ACT_Q8_256, q4_k),                                                   \
    .matmul[TENSOR_Q5_K] = REF_MATMUL(ACT_Q8_256, q5_k),                                                   \
    .matmul[TENSOR_Q6_K] = REF_MATMUL(ACT_Q8_256, q6_k),                                                   \
    .matmul[TENSOR_IQ4_XS] = REF_MATMUL(ACT_Q8_256, iq4_xs),                                               \
    .matmul[TENSOR_TQ1_0] = REF_MATMUL(ACT_Q8_256, tq1_0),                                                 \
    .matmul[TENSOR_TQ2_0] = REF_MATMUL(ACT_Q8_256, tq2_0),                                                 \
    .matmul[TENSOR_IQ2_XXS] = REF_MATMUL(ACT_Q8_256, iq2_xxs),                                             \
    .matmul[TENSOR_IQ2_XS] = REF_MATMUL(ACT_Q8_256, iq2_xs),                                               \
    .matmul[TENSOR_IQ2_S] = REF_MATMUL(ACT_Q8_256, iq2_s),                                                 \
    .matmul[TENSOR_IQ3_XXS] = REF_MATMUL(ACT_Q8_256, iq3_xxs),                                             \
    .matmul[TENSOR_IQ3_S] = REF_MATMUL(ACT_Q8_256, iq3_s),                                                 \
    .matmul[TENSOR_IQ1_S] = REF_MATMUL(ACT_Q8_256, iq1_s),                                                 \
    .matmul[TENSOR_IQ1_M] = REF_MATMUL(ACT_Q8_256, iq1_m),                                                 \
    .prepare_act = {ref_prepare_f32, ref_prepare_bf16, ref_prepare_q8_32, ref_prepare_q8_256},             \
    .kv = {[KV_F16] = REF_KV(ACT_F32, f16), [KV_F32] = REF_KV(ACT_F32, f32), [KV_Q8] = REF_KV(ACT_F32, q8), \
           [KV_BF16] = REF_KV(ACT_BF16, bf16)},                                                            \
    .row = {ref_row_max, ref_row_sum_squares, ref_row_sum_exp, ref_row_exp, ref_row_select_ge,             \
            ref_row_select_between, ref_row_weigh, ref_row_mask},                                              \
    .rms_norm = ref_rms_norm, .layer_norm = ref_layer_norm, .softmax = ref_softmax, .add = ref_add,        \
    .add_scaled = ref_add_scaled, .scale = ref_scale, .mul = ref_mul, .softcap = ref_softcap,              \
    .activate = ACT_FNS(ref_activate), .activate_mul = ACT_FNS(ref_activate_mul),                          \
    RECUR(ref), .swiglu_oai = ref_swiglu_oai, .xielu = ref_xielu, .rope = ref_rope, .rope_halves = ref_rope_halves,                        \
    .attend_merge = ref_attend_merge, .attend_finish = ref_attend_finish, .int8_probe = ref_int8_probe
// clang-format on

#endif
