// base/memory_limit.c - the smaller of the machine's available memory and the control group's rest.
#include "base/memory_limit.h"
#include "base/cgroup.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB 0x1p30

static uint64_t available_bytes(const char *root) {
    static const char key[] = "MemAvailable:"; // in kB (man 5 proc)
    char text[4096];
    if (!read_system_file(text, sizeof text, "%s/proc/meminfo", root)) return 0;
    const char *at = strstr(text, key);
    return at ? strtoull(at + sizeof key - 1, NULL, 10) * 1024 : 0;
}

void memory_limit_detect(const char *root, struct memory_limit *out) {
    const uint64_t available = available_bytes(root), left = cgroup_memory_left(root);
    *out = (struct memory_limit){.bytes = available};
    if (available) snprintf(out->reason, sizeof out->reason, "%.1f GiB available", (double)available / GIB);
    if (!left || (available && available <= left)) return;
    out->bytes = left;
    snprintf(out->reason, sizeof out->reason, "cgroup grants %.1f GiB more", (double)left / GIB);
}
