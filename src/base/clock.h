// base/clock.h - time in nanoseconds, and entropy for default seeds.
#ifndef RN_BASE_CLOCK_H
#define RN_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_now_ns(void);        // monotonic, arbitrary origin
int64_t clock_thread_cpu_ns(void); // CPU time of the calling thread; a system call
int64_t clock_wall_s(void);        // seconds since 1970
uint64_t clock_entropy(void);      // 64 bits from the system's generator (clock-mixed where that fails)

#endif
