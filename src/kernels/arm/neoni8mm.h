// kernels/arm/neoni8mm.h - the set with matrix products of bytes (FEAT_I8MM): what it does better than neondot.
#ifndef RN_KERNELS_ARM_NEONI8MM_H
#define RN_KERNELS_ARM_NEONI8MM_H

#include "kernels/kernels.h"

// For many rows, from the same panels.
#define NEONI8MM_DECLARE_GEMM(type)                                                                                  \
    void neoni8mm_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride,               \
                              size_t n_rows, float *out, size_t out_stride, void *scratch)
NEONI8MM_DECLARE_GEMM(q8_0);
NEONI8MM_DECLARE_GEMM(q4_0);
NEONI8MM_DECLARE_GEMM(q4_1);
NEONI8MM_DECLARE_GEMM(q5_0);
NEONI8MM_DECLARE_GEMM(q5_1);
NEONI8MM_DECLARE_GEMM(iq4_nl);
NEONI8MM_DECLARE_GEMM(mxfp4);
NEONI8MM_DECLARE_GEMM(q2_k);
NEONI8MM_DECLARE_GEMM(q3_k);
NEONI8MM_DECLARE_GEMM(q4_k);
NEONI8MM_DECLARE_GEMM(q5_k);
NEONI8MM_DECLARE_GEMM(q6_k);
NEONI8MM_DECLARE_GEMM(iq4_xs);
NEONI8MM_DECLARE_GEMM(iq2);
NEONI8MM_DECLARE_GEMM(iq1);
NEONI8MM_DECLARE_GEMM(iq3_xxs);
NEONI8MM_DECLARE_GEMM(iq3_s);
size_t neoni8mm_gemm_scratch_32(size_t k); // of the types with blocks of 32, and of 256
size_t neoni8mm_gemm_scratch_256(size_t k);

uint64_t neoni8mm_int8_probe(uint64_t n_rounds, int32_t *sum);

#endif
