// kernels/x86/set_avx2.c - the table of the AVX2 set; a slot that names a ref function is borrowed.
#include "kernels/ref/ref.h"
#include "kernels/x86/avx2.h"
#include "kernels/x86/panel_k.h"

const struct kernel_set kernel_set_avx2 = {
    .id = CPU_AVX2,
    .name = "avx2",
    .matmul =
        {
            [TENSOR_F32] = {ACT_F32, panel_f32_bytes, panel_f32_pack, avx2_matmul_f32},
            [TENSOR_F16] = {ACT_F32, panel_f16_bytes, panel_f16_pack, avx2_matmul_f16},
            [TENSOR_BF16] = {ACT_BF16, panel_bf16_bytes, panel_bf16_pack, avx2_matmul_bf16},
            [TENSOR_Q8_0] = {ACT_Q8_32, panel_q8_0_bytes, panel_q8_0_pack, avx2_matmul_q8_0},
            [TENSOR_Q4_0] = {ACT_Q8_32, panel_q4_0_bytes, panel_q4_0_pack, avx2_matmul_q4_0},
            [TENSOR_Q4_1] = {ACT_Q8_32, panel_q4_1_bytes, panel_q4_1_pack, avx2_matmul_q4_1},
            [TENSOR_Q5_0] = {ACT_Q8_32, panel_q5_0_bytes, panel_q5_0_pack, avx2_matmul_q5_0},
            [TENSOR_Q5_1] = {ACT_Q8_32, panel_q5_1_bytes, panel_q5_1_pack, avx2_matmul_q5_1},
            [TENSOR_IQ4_NL] = {ACT_Q8_32, panel_iq4_nl_bytes, panel_iq4_nl_pack, avx2_matmul_iq4_nl},
            [TENSOR_MXFP4] = {ACT_Q8_32, panel_mxfp4_bytes, panel_mxfp4_pack, avx2_matmul_mxfp4},
            [TENSOR_Q2_K] = {ACT_Q8_256, panel_q2_k_bytes, panel_q2_k_pack, avx2_matmul_q2_k},
            [TENSOR_Q3_K] = {ACT_Q8_256, panel_q3_k_bytes, panel_q3_k_pack, avx2_matmul_q3_k},
            [TENSOR_Q4_K] = {ACT_Q8_256, panel_q4_k_bytes, panel_q4_k_pack, avx2_matmul_q4_k},
            [TENSOR_Q5_K] = {ACT_Q8_256, panel_q5_k_bytes, panel_q5_k_pack, avx2_matmul_q5_k},
            [TENSOR_Q6_K] = {ACT_Q8_256, panel_q6_k_bytes, panel_q6_k_pack, avx2_matmul_q6_k},
            [TENSOR_IQ4_XS] = {ACT_Q8_256, panel_iq4_xs_bytes, panel_iq4_xs_pack, avx2_matmul_iq4_xs},
        },
    .matmul_name = {"avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2", "avx2",
                    "avx2", "avx2", "avx2", "avx2"},
    .prepare_act = {[ACT_F32] = ref_prepare_f32,
                    [ACT_BF16] = avx2_prepare_bf16,
                    [ACT_Q8_32] = avx2_prepare_q8_32,
                    [ACT_Q8_256] = avx2_prepare_q8_256},
    .kv =
        {
            [KV_F16] = {"f16", ref_kv_f16_bytes, ref_kv_f16_bytes, ref_kv_f16_put_key, avx2_kv_f16_put_value,
                        ref_kv_f16_copy_key, ref_kv_f16_copy_value, avx2_kv_f16_get_keys, avx2_kv_f16_get_values},
            [KV_F32] = {"f32", ref_kv_f32_bytes, ref_kv_f32_bytes, ref_kv_f32_put_key, ref_kv_f32_put_value,
                        ref_kv_f32_copy_key, ref_kv_f32_copy_value, ref_kv_f32_get_keys, ref_kv_f32_get_values},
            [KV_Q8] = {"q8", ref_kv_q8_bytes, ref_kv_q8_bytes, ref_kv_q8_put_key, ref_kv_q8_put_value,
                       ref_kv_q8_copy_key, ref_kv_q8_copy_value, avx2_kv_q8_get_keys, avx2_kv_q8_get_values},
        },
    .row = {avx2_row_max, avx2_row_sum_squares, avx2_row_sum_exp, avx2_row_exp, avx2_row_select_ge},
    .rms_norm = avx2_rms_norm,
    .add = avx2_add,
    .silu_mul = avx2_silu_mul,
    .rope = avx2_rope,
    .attend_block = avx2_attend_block,
    .attend_merge = avx2_attend_merge,
    .attend_finish = avx2_attend_finish,
    .int8_probe = avx2_int8_probe,
};
