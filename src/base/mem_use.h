// base/mem_use.h - what of a piece of memory, and of the whole process, is in memory now.
// Threads: any.
#ifndef RN_BASE_MEM_USE_H
#define RN_BASE_MEM_USE_H

#include <stddef.h>
#include <stdint.h>

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
