// base/fault.h - where a fault test may make something other than an allocation fail (threads, locks, mappings).
// Private to base: counted together with the allocations of base/mem.h, set by mem_fail_after().
#ifndef RN_BASE_FAULT_H
#define RN_BASE_FAULT_H

#include <stdbool.h>

bool fault_here(void); // true: fail as if the system were out of memory

#endif
