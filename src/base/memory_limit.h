// base/memory_limit.h - how many bytes this process may still take: what the machine has available, and what its cgroup grants.
#ifndef RN_BASE_MEMORY_LIMIT_H
#define RN_BASE_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

struct memory_limit {
    uint64_t bytes;  // the smaller of the two; 0: unknown
    char reason[96]; // "22.5 GiB available" or "cgroup grants 3.9 GiB more"
};
// root: where /proc and /sys are looked up; "" for the real system, a folder in tests.
void memory_limit_detect(const char *root, struct memory_limit *out);

#endif
