// base/cpus_judge.h - cpus_detect() without its question to the kernel. Private to base and its tests.
#ifndef RN_BASE_CPUS_JUDGE_H
#define RN_BASE_CPUS_JUDGE_H

#include "base/cpus.h"
#include <sched.h>

// allowed: the affinity mask, set_bytes long (CPU_ALLOC_SIZE).
void cpus_judge(const char *root, const cpu_set_t *allowed, size_t set_bytes, cpus *out);

#endif
