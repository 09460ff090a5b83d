// base/tiles_permission.c - the request of Linux's Documentation/arch/x86/xstate.rst, "using dynamically enabled XSTATE features".
#include "base/tiles_permission.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

// From asm/prctl.h, which older headers lack.
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

bool tiles_permitted(void) { return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0; }
#else
bool tiles_permitted(void) { return false; }
#endif
