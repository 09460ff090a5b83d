// kernels/x86/avx512vnni.h - the AVX-512 VNNI set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AVX512VNNI_H
#define RN_KERNELS_X86_AVX512VNNI_H

#include "kernels/kv_layout.h"

#endif
