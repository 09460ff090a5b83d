// base/memory_limit.c - reads /proc/meminfo and the memory controller of cgroup v2 and v1.
#include "base/memory_limit.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GIB ((double)(1 << 30))

// The number at the start of a file, false when there is none ("max").
static bool read_number(const char *root, const char *path, uint64_t *out) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *f = fopen(full, "re");
    if (!f) return false;
    const bool ok = fscanf(f, "%" SCNu64, out) == 1;
    fclose(f);
    return ok;
}

static bool read_available(const char *root, uint64_t *out) {
    char full[512], line[128];
    bool found = false;
    snprintf(full, sizeof full, "%s/proc/meminfo", root);
    FILE *f = fopen(full, "re");
    if (!f) return false;
    while (!found && fgets(line, sizeof line, f)) found = sscanf(line, "MemAvailable: %" SCNu64 " kB", out) == 1;
    fclose(f);
    *out *= 1024;
    return found;
}

// What one control group still grants: its limit less what it holds, page cache not subtracted (it can be reclaimed).
static bool group_left(const char *root, const char *dir, const char *limit_name, const char *used_name,
                       uint64_t *left) {
    char path[512];
    uint64_t limit = 0, used = 0;
    snprintf(path, sizeof path, "%s/%s", dir, limit_name);
    if (!read_number(root, path, &limit) || limit >= (uint64_t)1 << 60)
        return false; // v1 writes "no limit" as a huge number
    snprintf(path, sizeof path, "%s/%s", dir, used_name);
    read_number(root, path, &used);
    *left = used < limit ? limit - used : 0;
    return true;
}

// Every group from the process's own up to the root may set a limit: the smallest counts.
static bool cgroup_left(const char *root, uint64_t *left) {
    char full[512], line[384];
    bool found = false;
    snprintf(full, sizeof full, "%s/proc/self/cgroup", root);
    FILE *f = fopen(full, "re");
    if (!f) return false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        const bool v2 = strncmp(line, "0::", 3) == 0;
        const char *memory = strstr(line, ":memory:");
        if (!v2 && !memory) continue;
        char dir[448];
        snprintf(dir, sizeof dir, "%s%s", v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory",
                 v2 ? line + 3 : memory + 8);
        for (char *slash = dir + strlen(dir); slash && strlen(dir) >= strlen("/sys/fs/cgroup");
             slash = strrchr(dir, '/')) {
            uint64_t n;
            *slash = 0;
            if (group_left(root, dir, v2 ? "memory.max" : "memory.limit_in_bytes",
                           v2 ? "memory.current" : "memory.usage_in_bytes", &n)) {
                *left = !found || n < *left ? n : *left;
                found = true;
            }
        }
    }
    fclose(f);
    return found;
}

void memory_limit_detect(const char *root, struct memory_limit *out) {
    uint64_t available = 0, left = 0;
    *out = (struct memory_limit){0};
    if (read_available(root, &available)) {
        out->bytes = available;
        snprintf(out->reason, sizeof out->reason, "%.1f GiB available", (double)available / GIB);
    }
    if (cgroup_left(root, &left) && (!out->bytes || left < out->bytes)) {
        out->bytes = left;
        snprintf(out->reason, sizeof out->reason, "cgroup grants %.1f GiB more", (double)left / GIB);
    }
}
