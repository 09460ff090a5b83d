// base/caches.c - /sys/devices/system/cpu/cpu0/cache: one folder for each cache, its size as "2048K".
#include "base/caches.h"
#include "base/cgroup.h"
#include <stdlib.h>

enum { MOST_CACHES = 16 };

uint64_t caches_largest(const char *root) {
    uint64_t largest = 0;
    for (int i = 0; i < MOST_CACHES; i++) {
        char text[32], *unit;
        if (!read_system_file(text, sizeof text, "%s/sys/devices/system/cpu/cpu0/cache/index%d/size", root, i)) break;
        const uint64_t n = strtoull(text, &unit, 10);
        const int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
        const uint64_t bytes = n < UINT64_MAX >> shift ? n << shift : 0;
        if (bytes > largest) largest = bytes;
    }
    return largest;
}
