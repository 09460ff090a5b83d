// base/cpus.c - how many threads this process should use, and why.
#include "base/cpus.h"
#include "base/cgroup.h"
#include "base/pool.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPUS = 8192 }; // the largest CONFIG_NR_CPUS of Linux

// The first processor of a list such as "0-1,64-65" that is in the set; -1: none.
static int first_allowed(const char *list, const cpu_set_t *allowed, size_t set_bytes) {
    for (const char *p = list;;) {
        char *end;
        const long from = strtol(p, &end, 10);
        if (end == p) return -1;
        const long to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        for (long i = from; i >= 0 && i <= to && i < MAX_CPUS; i++)
            if (CPU_ISSET_S((size_t)i, set_bytes, allowed)) return (int)i;
        if (*end != ',') return -1;
        p = end + 1;
    }
}

// A core is counted with the first allowed one of its hardware threads. (Core ids would not do: they repeat between
// dies and, on some Arm systems, between clusters.)
static int count_cores(const char *root, const cpu_set_t *allowed, size_t set_bytes) {
    int n_cores = 0;
    for (int i = 0; i < MAX_CPUS && (size_t)i < set_bytes * 8; i++) {
        if (!CPU_ISSET_S((size_t)i, set_bytes, allowed)) continue;
        char siblings[1024];
        if (!read_system_file(siblings, sizeof siblings,
                              "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root, i))
            return 0;
        n_cores += first_allowed(siblings, allowed, set_bytes) == i;
    }
    return n_cores;
}

void cpus_judge(const char *root, const cpu_set_t *allowed, size_t set_bytes, cpus *out) {
    *out = (cpus){
        .n_affinity = CPU_COUNT_S(set_bytes, allowed),
        .n_physical = count_cores(root, allowed, set_bytes),
        .quota = cgroup_cpu_quota(root),
    };
    int n = out->n_affinity;
    if (out->n_physical && out->n_physical < n) n = out->n_physical;
    if (out->quota != 0 && out->quota < n)
        n = (int)out->quota; // rounded down: with one thread too many, all are throttled
    const bool capped = n > POOL_MAX_THREADS;
    if (capped) n = POOL_MAX_THREADS;
    out->n_threads = n < 1 ? 1 : n;

    char cores[32] = "unknown", quota[48] = "no cgroup quota";
    if (out->n_physical) snprintf(cores, sizeof cores, "%d", out->n_physical);
    if (out->quota != 0) snprintf(quota, sizeof quota, "cgroup quota %.2f", out->quota);
    snprintf(out->reason, sizeof out->reason, "%d: affinity %d, physical cores %s, %s%s", out->n_threads,
             out->n_affinity, cores, quota, capped ? ", at most 64" : "");
}

void cpus_detect(const char *root, cpus *out) {
    union {
        cpu_set_t set;
        unsigned char bytes[MAX_CPUS / 8];
    } allowed;
    memset(&allowed, 0, sizeof allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed.set) != 0) CPU_SET(0, &allowed.set); // at least one
    cpus_judge(root, &allowed.set, sizeof allowed, out);
}
