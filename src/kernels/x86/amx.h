// kernels/x86/amx.h - the AMX set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AMX_H
#define RN_KERNELS_X86_AMX_H

#include "kernels/kv_layout.h"

// matmul_ops.gemm and .gemm_scratch of each type.
#define AMX_GEMM_DECLARE(type)                                                                                       \
    size_t amx_gemm_##type##_scratch(size_t k);                                                                      \
    void amx_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride, size_t n_rows,     \
                         float *out, size_t out_stride, void *scratch)
AMX_GEMM_DECLARE(bf16);
AMX_GEMM_DECLARE(q8_0);
AMX_GEMM_DECLARE(q4_0);
AMX_GEMM_DECLARE(q4_1);
AMX_GEMM_DECLARE(q5_0);
AMX_GEMM_DECLARE(q5_1);
AMX_GEMM_DECLARE(iq4_nl);
AMX_GEMM_DECLARE(mxfp4);
AMX_GEMM_DECLARE(q2_k);
AMX_GEMM_DECLARE(q3_k);
AMX_GEMM_DECLARE(q4_k);
AMX_GEMM_DECLARE(q5_k);
AMX_GEMM_DECLARE(q6_k);
AMX_GEMM_DECLARE(iq4_xs);
AMX_GEMM_DECLARE(iq2);
AMX_GEMM_DECLARE(iq1);
AMX_GEMM_DECLARE(iq3_xxs);
AMX_GEMM_DECLARE(iq3_s);
void amx_kv_bf16_attend(const struct attend_block *a);

#endif
