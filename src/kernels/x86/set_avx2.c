// kernels/x86/set_avx2.c - the table of the AVX2 set.
#include "kernels/x86/slots_avx2.h"

const struct kernel_set kernel_set_avx2 = {.id = CPU_AVX2, .name = "avx2", SLOTS_AVX2};
