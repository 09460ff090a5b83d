// base/process_memory.h - how much memory this process may still take, and how much of what it has is in memory now.
// Threads: any.
#ifndef RN_BASE_PROCESS_MEMORY_H
#define RN_BASE_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory_limit {
    uint64_t
        bytes; // that may still be taken: what the machine has available or what the cgroup grants, if that is less; 0: unknown
    char reason[96]; // "22.5 GiB available" or "cgroup grants 3.9 GiB more"
};
// root: where /proc and /sys are looked up; "" for the real system, a folder in tests.
void memory_limit_detect(const char *root, struct memory_limit *out);

// Bytes of [p, p + n) that count towards this process now: pages it has touched and not given back. Of a mapped file less than what
// the system may hold of it (base/file_map.h, file_map_resident()).
size_t mem_resident(const void *p, size_t n);

struct process_use {
    uint64_t resident; // bytes in memory
    uint64_t huge;     // of these, in huge pages
};
// 0 where the system does not say.
void process_use_read(struct process_use *out);

#endif
