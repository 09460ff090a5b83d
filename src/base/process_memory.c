// base/process_memory.c - see process_memory.h.
#include "base/process_memory.h"
#include "base/cgroup.h"
#include "base/checked.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIB 0x1p30

// The number after `key` in lines "Key:   123 kB" (proc(5)), in bytes.
static uint64_t bytes_of(const char *text, const char *key) {
    const char *const at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

// ---- what may be taken ----------------------------------------------------------------------------------------------------

static uint64_t available_bytes(const char *root) {
    char text[4096];
    if (!read_system_file(text, sizeof text, "%s/proc/meminfo", root)) return 0;
    return bytes_of(text, "MemAvailable:");
}

void memory_limit_detect(const char *root, struct memory_limit *out) {
    const uint64_t available = available_bytes(root), left = cgroup_memory_left(root);
    *out = (struct memory_limit){.bytes = available};
    if (available) snprintf(out->reason, sizeof out->reason, "%.1f GiB available", (double)available / GIB);
    if (!left || (available && available <= left)) return;
    out->bytes = left;
    snprintf(out->reason, sizeof out->reason, "cgroup grants %.1f GiB more", (double)left / GIB);
}

// ---- what is there --------------------------------------------------------------------------------------------------------

enum { BATCH = 4096 }; // pages per query

// Sets a byte for each of n pages from address `at` on: whether it is resident. /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst): 64 bits
// for each page, the highest one being "present". mincore(), where there is no such file, also counts what other processes or the
// page cache hold of a mapped file.
static bool ask(int pagemap, uintptr_t at, size_t n, size_t page, unsigned char *present) {
    uint64_t entries[BATCH];
    const size_t n_bytes = n * sizeof *entries;
    if (pagemap < 0) return mincore((void *)at, n * page, present) == 0;
    if (pread(pagemap, entries, n_bytes, (off_t)(at / page * sizeof *entries)) != (ssize_t)n_bytes) return false;
    for (size_t i = 0; i < n; i++) present[i] = (unsigned char)(entries[i] >> 63);
    return true;
}

size_t mem_resident(const void *p, size_t n) {
    if (n == 0) return 0;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)p, end = begin + n;
    const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t total = 0;
    for (uintptr_t at = begin / page * page; at < end;) {
        unsigned char present[BATCH];
        const size_t left = ceil_div(end - at, page), n_pages = left < BATCH ? left : BATCH;
        if (!ask(pagemap, at, n_pages, page, present)) break;
        for (size_t i = 0; i < n_pages; i++, at += page)
            if (present[i] & 1) total += (at + page < end ? at + page : end) - (at > begin ? at : begin);
    }
    if (pagemap >= 0) close(pagemap);
    return total;
}

void process_use_read(struct process_use *out) {
    char text[4096];
    *out = (struct process_use){0};
    if (!read_system_file(text, sizeof text, "/proc/self/smaps_rollup")) return;
    out->resident = bytes_of(text, "\nRss:");
    out->huge = bytes_of(text, "\nAnonHugePages:");
}
