// kernels/x86/avx512vnni.h - the AVX-512 VNNI set: what it does better than the set below. Contracts: kernels/kernels.h.
#ifndef RN_KERNELS_X86_AVX512VNNI_H
#define RN_KERNELS_X86_AVX512VNNI_H

#include "kernels/kv_layout.h"

// Weights in the panels of kernels/panels/panel.h and panel_k.h.
#define AVX512VNNI_DECLARE_MATMUL(type)                                                                              \
    void avx512vnni_matmul_##type(const void *w, size_t row_bytes, size_t n_out, size_t k, const void *x,            \
                                  size_t act_stride, size_t n_rows, float *out, size_t out_stride)
// The second form of the types with blocks of 32, for many rows.
#define AVX512VNNI_DECLARE_GEMM(type)                                                                                \
    void avx512vnni_gemm_##type(const void *w, size_t n_out, size_t k, const void *x, size_t act_stride,             \
                                size_t n_rows, float *out, size_t out_stride, void *scratch)
size_t avx512vnni_gemm_scratch(size_t k);
AVX512VNNI_DECLARE_MATMUL(q8_0);
AVX512VNNI_DECLARE_MATMUL(q4_0);
AVX512VNNI_DECLARE_MATMUL(q4_1);
AVX512VNNI_DECLARE_MATMUL(q5_0);
AVX512VNNI_DECLARE_MATMUL(q5_1);
AVX512VNNI_DECLARE_MATMUL(iq4_nl);
AVX512VNNI_DECLARE_MATMUL(mxfp4);
AVX512VNNI_DECLARE_MATMUL(q2_k);
AVX512VNNI_DECLARE_MATMUL(q3_k);
AVX512VNNI_DECLARE_MATMUL(q4_k);
AVX512VNNI_DECLARE_MATMUL(q5_k);
AVX512VNNI_DECLARE_MATMUL(q6_k);
AVX512VNNI_DECLARE_MATMUL(iq4_xs);
// Of all types with the same table (panels/panel_iq.h).
AVX512VNNI_DECLARE_MATMUL(iq2);
AVX512VNNI_DECLARE_MATMUL(iq1);
AVX512VNNI_DECLARE_MATMUL(iq3_xxs);
AVX512VNNI_DECLARE_MATMUL(iq3_s);
AVX512VNNI_DECLARE_GEMM(q8_0);
AVX512VNNI_DECLARE_GEMM(q4_0);
AVX512VNNI_DECLARE_GEMM(q4_1);
AVX512VNNI_DECLARE_GEMM(q5_0);
AVX512VNNI_DECLARE_GEMM(q5_1);
AVX512VNNI_DECLARE_GEMM(iq4_nl);
AVX512VNNI_DECLARE_GEMM(mxfp4);

uint64_t avx512vnni_int8_probe(uint64_t n_rounds, int32_t *sum);

#endif
