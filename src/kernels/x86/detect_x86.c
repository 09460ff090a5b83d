// kernels/x86/detect_x86.c - what an x86 processor and its operating system can do. Compiled with the baseline's flags.
#include "base/processor.h"
#include "kernels/x86/sets_x86.h"
#include <cpuid.h>
#include <stdbool.h>

// The compiler's runtime asks CPUID, and also whether the operating system saves the wide registers.
const char *avx2_lacks(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return "AVX2";
    if (!__builtin_cpu_supports("fma")) return "FMA";
    unsigned eax, ebx, ecx, edx; // F16C has no name that every compiler knows
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_F16C)) return "F16C";
    return NULL;
}

const char *avx512_lacks(void) {
    const char *const lacks = avx2_lacks();
    if (lacks) return lacks;
    if (!__builtin_cpu_supports("avx512f")) return "AVX-512F";
    if (!__builtin_cpu_supports("avx512bw")) return "AVX-512BW";
    if (!__builtin_cpu_supports("avx512dq")) return "AVX-512DQ";
    if (!__builtin_cpu_supports("avx512vl")) return "AVX-512VL";
    return NULL;
}

const char *avx512vnni_lacks(void) {
    const char *const lacks = avx512_lacks();
    return lacks ? lacks : __builtin_cpu_supports("avx512vnni") ? NULL : "AVX-512 VNNI";
}

bool x86_is_amd(void) {
    __builtin_cpu_init();
    return __builtin_cpu_is("amd");
}

// Leaf 7 has the feature bits. Leaves 1Dh and 1Eh, which describe the tiles, are not read: virtual machines leave them zero although
// tiles work, and palette 1 (8 tiles of 16 rows of 64 bytes) is the only one there is.
const char *amx_lacks(void) {
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };
    const char *const lacks = avx512vnni_lacks();
    if (lacks) return lacks;
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return "CPUID leaf 7";
    if (!(edx & AMX_TILE)) return "AMX-TILE";
    if (!(edx & AMX_INT8)) return "AMX-INT8";
    if (!(edx & AMX_BF16)) return "AMX-BF16";
    return tiles_permitted() ? NULL : "the operating system's permission to use AMX tiles";
}
