// base/arm_features.c - asks the auxiliary vector (Linux's Documentation/arch/arm64/elf_hwcaps.rst).
#include "base/arm_features.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

enum { DOTPROD = 1 << 20, I8MM = 1 << 13 }; // HWCAP_ASIMDDP; HWCAP2_I8MM

bool arm_has_dotprod(void) { return getauxval(AT_HWCAP) & DOTPROD; }
bool arm_has_i8mm(void) { return getauxval(AT_HWCAP2) & I8MM; }
#else
bool arm_has_dotprod(void) { return false; }
bool arm_has_i8mm(void) { return false; }
#endif
