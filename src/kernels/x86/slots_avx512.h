// kernels/x86/slots_avx512.h - what the AVX-512 (F, BW, DQ, VL) set does better than avx2.
#ifndef RN_KERNELS_X86_SLOTS_AVX512_H
#define RN_KERNELS_X86_SLOTS_AVX512_H

#include "kernels/x86/avx512.h"
#include "kernels/x86/slots_avx2.h"

#define SLOTS_AVX512 SLOTS_AVX2

#endif
