// base/cgroup.h - how much processor time and memory the control group of this process grants. Private to base.
#ifndef RN_BASE_CGROUP_H
#define RN_BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Processors' worth of time: the smallest quota of this process's cgroup and those above it, version 2 and 1.
// 0: no limit. root: where /proc and /sys are looked up.
double cgroup_cpu_quota(const char *root);
// Bytes that may still be taken, likewise; at least 1. 0: no limit. Page cache counts as taken though it could be reclaimed.
uint64_t cgroup_memory_left(const char *root);

// The beginning of a small file of /proc or /sys as text, at most cap - 1 bytes. false: it cannot be read.
__attribute__((format(printf, 3, 4))) bool read_system_file(char *text, size_t cap, const char *path_fmt, ...);

#endif
