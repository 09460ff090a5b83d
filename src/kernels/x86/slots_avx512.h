// kernels/x86/slots_avx512.h - what the AVX-512 (F, BW, DQ, VL) set does better than avx2.
#ifndef RN_KERNELS_X86_SLOTS_AVX512_H
#define RN_KERNELS_X86_SLOTS_AVX512_H

#include "kernels/x86/avx512.h"
#include "kernels/x86/slots_avx2.h"

#define AVX512_MATMUL(act, type) {"avx512", act, panel_##type##_bytes, avx2_pack_##type, avx512_matmul_##type}
// pack: of BF16, or of a type in its panels.
#define AVX512_MATMUL_BF16(pack)                                                                                     \
    {"avx512", ACT_BF16, panel_bf16_bytes, pack, avx512_matmul_bf16, 3, avx512_gemm_bf16_scratch, avx512_gemm_bf16}

// clang-format off
#define SLOTS_AVX512                                                                                          \
    SLOTS_AVX2,                                                                                               \
    .matmul[TENSOR_F32] = AVX512_MATMUL(ACT_F32, f32),                                                        \
    .matmul[TENSOR_F16] = AVX512_MATMUL(ACT_F32, f16),                                                        \
    .matmul[TENSOR_BF16] = AVX512_MATMUL_BF16(avx2_pack_bf16),                                                \
    .matmul[TENSOR_NVFP4] = AVX512_MATMUL_BF16(panel_nvfp4_pack),                                             \
    .prepare_act[ACT_BF16] = avx512_prepare_bf16,                                                             \
    .prepare_act[ACT_Q8_256] = avx512_prepare_q8_256,                                                         \
    .row = {avx512_row_max, avx512_row_sum_squares, avx512_row_sum_exp, avx512_row_exp, avx512_row_select_ge,\
            avx512_row_select_between, avx512_row_weigh, avx512_row_mask},                                    \
    .rms_norm = avx512_rms_norm, .layer_norm = avx512_layer_norm, .softmax = avx512_softmax,                  \
    .add = avx512_add, .add_scaled = avx512_add_scaled, .scale = avx512_scale, .mul = avx512_mul,             \
    .softcap = avx512_softcap, .activate = ACT_FNS(avx512_activate),                                          \
    .activate_mul = ACT_FNS(avx512_activate_mul), .swiglu_oai = avx512_swiglu_oai, .xielu = avx512_xielu, RECUR(avx512),                            \
    .rope = avx512_rope, .rope_halves = avx512_rope_halves,                                                   \
    .kv[KV_F16].attend = avx512_kv_f16_attend,                                                                \
    .kv[KV_F32].attend = avx512_kv_f32_attend,                                                                \
    .kv[KV_Q8].attend = avx512_kv_q8_attend,                                                                  \
    .kv[KV_BF16].attend = avx512_kv_bf16_attend
// clang-format on

#endif
