// base/cgroup.c - how much processor time and memory the control group of this process grants.
#include "base/cgroup.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATH_BYTES = 4096 };

bool read_system_file(char *text, size_t cap, const char *path_fmt, ...) {
    char path[MAX_PATH_BYTES];
    va_list ap;
    va_start(ap, path_fmt);
    const int n_path = vsnprintf(path, sizeof path, path_fmt, ap);
    va_end(ap);
    if (n_path < 0 || (size_t)n_path >= sizeof path) return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t n = 0;
    for (ssize_t r; n < cap - 1; n += (size_t)r) {
        do r = read(fd, text + n, cap - 1 - n);
        while (r < 0 && errno == EINTR);
        if (r <= 0) break;
    }
    close(fd);
    text[n] = 0;
    return n > 0;
}

// Both versions write microseconds of processor time in each period of microseconds; "max" or -1: no limit.
static double ratio(const char *quota_text, const char *period_text) {
    const double quota = strtod(quota_text, NULL), period = strtod(period_text, NULL);
    return quota > 0 && period > 0 ? quota / period : 0;
}

// Version 2, cpu.max: "QUOTA PERIOD".
static double quota_v2(const char *root, const char *dir, const char *group) {
    char text[128];
    if (!read_system_file(text, sizeof text, "%s/sys/fs/cgroup/%s%s/cpu.max", root, dir, group)) return 0;
    const char *space = strchr(text, ' ');
    return ratio(text, space ? space : "100000");
}

// Version 1: a file for each.
static double quota_v1(const char *root, const char *dir, const char *group) {
    char quota[64], period[64];
    if (!read_system_file(quota, sizeof quota, "%s/sys/fs/cgroup/%s%s/cpu.cfs_quota_us", root, dir, group) ||
        !read_system_file(period, sizeof period, "%s/sys/fs/cgroup/%s%s/cpu.cfs_period_us", root, dir, group))
        return 0;
    return ratio(quota, period);
}

static double smaller_limit(double a, double b) { return a == 0 || (b != 0 && b < a) ? b : a; }

// Bytes that a group may still allocate; at least 1, since 0 means no limit. Version 1 writes "no limit" as a huge number.
static double bytes_left(const char *limit_text, const char *used_text) {
    const double limit = strtod(limit_text, NULL), used = strtod(used_text, NULL);
    if (limit <= 0 || limit >= 0x1p60) return 0;
    return limit > used ? limit - used : 1;
}

static double memory_v2(const char *root, const char *dir, const char *group) {
    char limit[64], used[64] = "";
    if (!read_system_file(limit, sizeof limit, "%s/sys/fs/cgroup/%s%s/memory.max", root, dir, group)) return 0;
    read_system_file(used, sizeof used, "%s/sys/fs/cgroup/%s%s/memory.current", root, dir, group);
    return bytes_left(limit, used);
}

static double memory_v1(const char *root, const char *dir, const char *group) {
    char limit[64], used[64] = "";
    if (!read_system_file(limit, sizeof limit, "%s/sys/fs/cgroup/%s%s/memory.limit_in_bytes", root, dir, group))
        return 0;
    read_system_file(used, sizeof used, "%s/sys/fs/cgroup/%s%s/memory.usage_in_bytes", root, dir, group);
    return bytes_left(limit, used);
}

typedef double (*grant_fn)(const char *root, const char *dir, const char *group);

// A kind of limit: its controller, where version 1 mounts it, and how to read one group's limit. 0: no limit.
struct grant {
    const char *controller, *v1_dirs[3];
    grant_fn v2, v1;
};
static const struct grant cpu_grant = {"cpu", {"cpu", "cpu,cpuacct", "cpuacct,cpu"}, quota_v2, quota_v1};
static const struct grant memory_grant = {"memory", {"memory"}, memory_v2, memory_v1};

// Returns the smallest of the group's own limit and those of its ancestors, up to the mount's root. A container often sees the
// host's name of its group while the mount begins at the group itself, so names that do not exist are skipped.
static double least_above(const char *root, const char *dir, const char *group, grant_fn of_group) {
    char path[MAX_PATH_BYTES];
    snprintf(path, sizeof path, "%s", strstr(group, "/..") ? "" : group); // "/..": outside what is mounted here
    double least = 0;
    for (;;) {
        least = smaller_limit(least, of_group(root, dir, path));
        char *slash = strrchr(path, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static bool lists(const char *controllers, const char *name) {
    char list[256], item[32];
    snprintf(list, sizeof list, ",%s,", controllers);
    snprintf(item, sizeof item, ",%s,", name);
    return strstr(list, item) != NULL;
}

static double least_grant(const char *root, const struct grant *g) {
    static const char *const v2_dirs[] = {"", "unified"};
    char groups[4 * MAX_PATH_BYTES];
    double least = 0;
    if (!read_system_file(groups, sizeof groups, "%s/proc/self/cgroup", root)) return 0;
    // Lines of ID:CONTROLLERS:GROUP; version 2 has one, with neither id nor controllers (man 7 cgroups).
    for (char *line = groups, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        for (size_t i = 0; i < 2 && !*controllers; i++)
            least = smaller_limit(least, least_above(root, v2_dirs[i], group, g->v2));
        for (size_t i = 0; i < 3 && g->v1_dirs[i] && lists(controllers, g->controller); i++)
            least = smaller_limit(least, least_above(root, g->v1_dirs[i], group, g->v1));
    }
    return least;
}

double cgroup_cpu_quota(const char *root) { return least_grant(root, &cpu_grant); }

uint64_t cgroup_memory_left(const char *root) { return (uint64_t)least_grant(root, &memory_grant); }
