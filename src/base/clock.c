// base/clock.c - monotonic time and entropy.
#include "base/clock.h"
#include "base/hash.h"
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_now_ns(void) { return now_ns(CLOCK_MONOTONIC); }

int64_t clock_thread_cpu_ns(void) { return now_ns(CLOCK_THREAD_CPUTIME_ID); }

int64_t clock_wall_s(void) { return now_ns(CLOCK_REALTIME) / 1000000000; }

uint64_t clock_entropy(void) {
    uint64_t x;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) == (ssize_t)sizeof x) return x;
    // Early in boot, or the call is filtered: two clocks, the process and an address differ between runs.
    x = hash_u64((uint64_t)now_ns(CLOCK_REALTIME), (uint64_t)clock_now_ns());
    return hash_u64(x ^ (uint64_t)getpid(), (uint64_t)(uintptr_t)&x);
}
