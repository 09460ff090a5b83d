// base/fp_mode.c - the floating-point mode of compute threads: rounding to nearest even, denormals flushed.
#include "base/pool.h"

#if defined(__x86_64__)
#include <immintrin.h>

// MXCSR (Intel SDM volume 1, section 10.2.3): all exceptions masked, rounding 00 = nearest even,
// bit 6 = denormal inputs are zeros (DAZ), bit 15 = denormal results are zeros (FTZ).
enum { COMPUTING = 0x1F80 | 1 << 6 | 1 << 15 };
static uint64_t mode_read(void) { return _mm_getcsr(); }
static void mode_write(uint64_t mode) { _mm_setcsr((unsigned)mode); }

#elif defined(__aarch64__)

// FPCR (Arm ARM, C5.2): bit 24 = flush inputs and results to zero (FZ); rounding 00 = nearest even; traps off.
enum { COMPUTING = 1 << 24 };
static uint64_t mode_read(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static void mode_write(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }

#else
#error "runnel cannot set the flush-to-zero mode of this CPU, and without it results would differ from other CPUs"
#endif

fp_mode fp_mode_enter(void) {
    const fp_mode before = {.saved = mode_read()};
    mode_write(COMPUTING);
    return before;
}

void fp_mode_leave(fp_mode m) { mode_write(m.saved); }
