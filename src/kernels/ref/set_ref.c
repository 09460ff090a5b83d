// kernels/ref/set_ref.c - the table of the reference set.
#include "kernels/ref/ref.h"

const struct kernel_set kernel_set_ref = {
    .id = CPU_REF,
    .name = "ref",
    .matmul =
        {
            [TENSOR_F32] = {ACT_F32, NULL, NULL, ref_matmul_f32},
            [TENSOR_F16] = {ACT_F32, NULL, NULL, ref_matmul_f16},
            [TENSOR_BF16] = {ACT_BF16, NULL, NULL, ref_matmul_bf16},
            [TENSOR_Q8_0] = {ACT_Q8_32, NULL, NULL, ref_matmul_q8_0},
            [TENSOR_Q4_0] = {ACT_Q8_32, NULL, NULL, ref_matmul_q4_0},
            [TENSOR_Q4_1] = {ACT_Q8_32, NULL, NULL, ref_matmul_q4_1},
            [TENSOR_Q5_0] = {ACT_Q8_32, NULL, NULL, ref_matmul_q5_0},
            [TENSOR_Q5_1] = {ACT_Q8_32, NULL, NULL, ref_matmul_q5_1},
            [TENSOR_IQ4_NL] = {ACT_Q8_32, NULL, NULL, ref_matmul_iq4_nl},
            [TENSOR_MXFP4] = {ACT_Q8_32, NULL, NULL, ref_matmul_mxfp4},
            [TENSOR_Q2_K] = {ACT_Q8_256, NULL, NULL, ref_matmul_q2_k},
            [TENSOR_Q3_K] = {ACT_Q8_256, NULL, NULL, ref_matmul_q3_k},
            [TENSOR_Q4_K] = {ACT_Q8_256, NULL, NULL, ref_matmul_q4_k},
            [TENSOR_Q5_K] = {ACT_Q8_256, NULL, NULL, ref_matmul_q5_k},
            [TENSOR_Q6_K] = {ACT_Q8_256, NULL, NULL, ref_matmul_q6_k},
            [TENSOR_IQ4_XS] = {ACT_Q8_256, NULL, NULL, ref_matmul_iq4_xs},
        },
    .matmul_name = {"ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref", "ref",
                    "ref", "ref"},
    .prepare_act = {[ACT_F32] = ref_prepare_f32,
                    [ACT_BF16] = ref_prepare_bf16,
                    [ACT_Q8_32] = ref_prepare_q8_32,
                    [ACT_Q8_256] = ref_prepare_q8_256},
    .kv =
        {
            [KV_F16] = {"f16", ref_kv_f16_bytes, ref_kv_f16_bytes, ref_kv_f16_put_key, ref_kv_f16_put_value,
                        ref_kv_f16_copy_key, ref_kv_f16_copy_value, ref_kv_f16_get_keys, ref_kv_f16_get_values},
            [KV_F32] = {"f32", ref_kv_f32_bytes, ref_kv_f32_bytes, ref_kv_f32_put_key, ref_kv_f32_put_value,
                        ref_kv_f32_copy_key, ref_kv_f32_copy_value, ref_kv_f32_get_keys, ref_kv_f32_get_values},
            [KV_Q8] = {"q8", ref_kv_q8_bytes, ref_kv_q8_bytes, ref_kv_q8_put_key, ref_kv_q8_put_value,
                       ref_kv_q8_copy_key, ref_kv_q8_copy_value, ref_kv_q8_get_keys, ref_kv_q8_get_values},
        },
    .row = {ref_row_max, ref_row_sum_squares, ref_row_sum_exp, ref_row_exp, ref_row_select_ge},
    .rms_norm = ref_rms_norm,
    .add = ref_add,
    .silu_mul = ref_silu_mul,
    .rope = ref_rope,
    .attend_block = ref_attend_block,
    .attend_merge = ref_attend_merge,
    .attend_finish = ref_attend_finish,
};
