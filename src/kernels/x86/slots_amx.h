// kernels/x86/slots_amx.h - what the AMX (int8 and bf16 tiles) set does better than avx512vnni.
#ifndef RN_KERNELS_X86_SLOTS_AMX_H
#define RN_KERNELS_X86_SLOTS_AMX_H

#include "kernels/x86/amx.h"
#include "kernels/x86/slots_avx512vnni.h"

// clang-format off
#define SLOTS_AMX                                                                                             \
    SLOTS_AVX512VNNI,                                                                                         \
    .kv[KV_BF16].attend = amx_kv_bf16_attend
// clang-format on

#endif
