// base/processor.c - processor features from Linux, and the request to use AMX.
#include "base/processor.h"
#include "base/cgroup.h"
#include <stdlib.h>

// ---- 64-bit Arm: the auxiliary vector (Linux's Documentation/arch/arm64/elf_hwcaps.rst) --------------------------------------

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

enum { DOTPROD = 1 << 20, I8MM = 1 << 13 }; // HWCAP_ASIMDDP; HWCAP2_I8MM

bool arm_has_dotprod(void) { return getauxval(AT_HWCAP) & DOTPROD; }
bool arm_has_i8mm(void) { return getauxval(AT_HWCAP2) & I8MM; }
#else
bool arm_has_dotprod(void) { return false; }
bool arm_has_i8mm(void) { return false; }
#endif

// ---- AMX: Linux's Documentation/arch/x86/xstate.rst, "using dynamically enabled XSTATE features" ------------------------------

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

// From asm/prctl.h, which older headers lack.
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

bool tiles_permitted(void) { return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0; }
#else
bool tiles_permitted(void) { return false; }
#endif

// ---- caches: a folder for each, its size as "2048K" -------------------------------------------------------------------------

enum { MOST_CACHES = 16 };

uint64_t caches_largest(const char *root) {
    uint64_t largest = 0;
    for (int i = 0; i < MOST_CACHES; i++) {
        char text[32], *unit;
        if (!read_system_file(text, sizeof text, "%s/sys/devices/system/cpu/cpu0/cache/index%d/size", root, i)) break;
        const uint64_t n = strtoull(text, &unit, 10);
        const int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
        const uint64_t bytes = n < UINT64_MAX >> shift ? n << shift : 0;
        if (bytes > largest) largest = bytes;
    }
    return largest;
}
