// base/processor.h - processor features that the operating system reports.
#ifndef RN_BASE_PROCESSOR_H
#define RN_BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

// Instructions of a 64-bit Arm processor; false on any other.
bool arm_has_dotprod(void);
bool arm_has_i8mm(void);

// Linux lets a process use AMX's tile registers only when it has requested them. Requests them for all threads of the process,
// later ones included. False where the kernel refuses, or knows no tiles. Calling it again is fine.
bool tiles_permitted(void);

// Bytes of the largest cache of processor 0, for measurements that must reach past it; 0: the system does not say.
// root: where /sys is looked up; "" for the real system.
uint64_t caches_largest(const char *root);

#endif
