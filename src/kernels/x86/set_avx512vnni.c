// kernels/x86/set_avx512vnni.c - the tables of the AVX-512 VNNI set.
#include "kernels/x86/slots_avx512vnni.h"

const struct kernel_set kernel_set_avx512vnni = {.id = CPU_AVX512VNNI, .name = "avx512vnni", SLOTS_AVX512VNNI};

// On AMD's cores a pass of eight rows takes hardly longer than eight of many rows do by gemm, so that unpacking pays much later
// (docs/kernels.md section 4).
#define GEMM_FROM(type, n_rows) .matmul[TENSOR_##type].gemm_rows = n_rows
const struct kernel_set kernel_set_avx512vnni_amd = {.id = CPU_AVX512VNNI,
                                                     .name = "avx512vnni",
                                                     SLOTS_AVX512VNNI,
                                                     GEMM_FROM(Q8_0, 128),
                                                     GEMM_FROM(Q4_0, 128),
                                                     GEMM_FROM(Q4_1, 128),
                                                     GEMM_FROM(Q5_0, 128),
                                                     GEMM_FROM(Q5_1, 65),
                                                     GEMM_FROM(IQ4_NL, 128),
                                                     GEMM_FROM(MXFP4, 128)};
