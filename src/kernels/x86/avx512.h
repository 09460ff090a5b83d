// kernels/x86/avx512.h - the AVX-512 (F, BW, DQ, VL) set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AVX512_H
#define RN_KERNELS_X86_AVX512_H

#include "kernels/kv_layout.h"

void avx512_kv_f32_attend(const struct attend_block *a);
void avx512_kv_f16_attend(const struct attend_block *a);
void avx512_kv_q8_attend(const struct attend_block *a);
void avx512_kv_bf16_attend(const struct attend_block *a);

#endif
