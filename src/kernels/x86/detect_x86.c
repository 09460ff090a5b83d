// kernels/x86/detect_x86.c - what an x86 processor and its operating system can do. Compiled with the baseline's flags.
#include "kernels/x86/avx2.h"
#include <cpuid.h>

// The compiler's runtime asks CPUID, and for AVX also whether the operating system saves the wide registers.
const char *avx2_lacks(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return "AVX2";
    if (!__builtin_cpu_supports("fma")) return "FMA";
    unsigned eax, ebx, ecx, edx; // F16C has no name that every compiler knows
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_F16C)) return "F16C";
    return NULL;
}
