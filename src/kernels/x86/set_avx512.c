// kernels/x86/set_avx512.c - the table of the AVX-512 (F, BW, DQ, VL) set.
#include "kernels/x86/slots_avx512.h"

const struct kernel_set kernel_set_avx512 = {.id = CPU_AVX512, .name = "avx512", SLOTS_AVX512};
