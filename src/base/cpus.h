// base/cpus.h - how many threads this process should use, and why: a container that grants four processors of 64 must not start 64.
//
// floor(min(affinity mask, cgroup v1/v2 quota, physical cores)), at least 1, at most POOL_MAX_THREADS.
#ifndef RN_BASE_CPUS_H
#define RN_BASE_CPUS_H

#include <sched.h>
#include <stddef.h>

typedef struct cpus {
    int n_threads;    // the default count
    int n_affinity;   // processors this process may run on
    int n_physical;   // physical cores among them (0: unknown)
    double quota;     // processors' worth of time the cgroup grants (0: no limit)
    char reason[128]; // "2: affinity 2, physical cores 2, no cgroup quota"
} cpus;

// root: where /proc and /sys are looked up; "" for the real system, a folder in tests.
void cpus_detect(const char *root, cpus *out);
// The same for an affinity mask, set_bytes long (CPU_ALLOC_SIZE): for base and its tests.
void cpus_judge(const char *root, const cpu_set_t *allowed, size_t set_bytes, cpus *out);

#endif
