// kernels/x86/slots_avx512.h - what the AVX-512 (F, BW, DQ, VL) set does better than avx2.
#ifndef RN_KERNELS_X86_SLOTS_AVX512_H
#define RN_KERNELS_X86_SLOTS_AVX512_H

#include "kernels/x86/avx512.h"
#include "kernels/x86/slots_avx2.h"

// clang-format off
#define SLOTS_AVX512                                                                                          \
    SLOTS_AVX2,                                                                                               \
    .kv[KV_F16].attend = avx512_kv_f16_attend,                                                                \
    .kv[KV_F32].attend = avx512_kv_f32_attend,                                                                \
    .kv[KV_Q8].attend = avx512_kv_q8_attend,                                                                  \
    .kv[KV_BF16].attend = avx512_kv_bf16_attend
// clang-format on

#endif
