// kernels/x86/slots_avx512vnni.h - what the AVX-512 VNNI set does better than avx512.
#ifndef RN_KERNELS_X86_SLOTS_AVX512VNNI_H
#define RN_KERNELS_X86_SLOTS_AVX512VNNI_H

#include "kernels/x86/avx512vnni.h"
#include "kernels/x86/slots_avx512.h"

#define SLOTS_AVX512VNNI SLOTS_AVX512

#endif
