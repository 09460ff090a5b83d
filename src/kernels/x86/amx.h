// kernels/x86/amx.h - the AMX set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AMX_H
#define RN_KERNELS_X86_AMX_H

#include "kernels/kv_layout.h"

void amx_kv_bf16_attend(const struct attend_block *a);

#endif
