// kernels/x86/set_avx512vnni.c - the table of the AVX-512 VNNI set.
#include "kernels/x86/slots_avx512vnni.h"

const struct kernel_set kernel_set_avx512vnni = {.id = CPU_AVX512VNNI, .name = "avx512vnni", SLOTS_AVX512VNNI};
