// base/own_cpus.c - see own_cpus.h.
#include "base/own_cpus.h"
#include <sched.h>
#include <stdbool.h>

int own_cpu_now(void) { return sched_getcpu(); }

// A machine of more processors than the set has room for: false.
static bool allowed_here(cpu_set_t *allowed) { return sched_getaffinity(0, sizeof *allowed, allowed) == 0; }

static size_t first_of(const cpu_set_t *set) {
    size_t i = 0;
    while (!CPU_ISSET(i, set)) i++;
    return i;
}

void own_cpus_hold(const thread *const threads[], const int last[], int n) {
    cpu_set_t left;
    const int here = own_cpu_now();
    if (here < 0 || here >= CPU_SETSIZE || !allowed_here(&left) || CPU_COUNT(&left) < n) return;
    CPU_CLR((size_t)here, &left);
    for (int i = 1; i < n; i++) {
        const bool stays = last[i] >= 0 && last[i] < CPU_SETSIZE && CPU_ISSET((size_t)last[i], &left);
        const size_t cpu = stays ? (size_t)last[i] : first_of(&left);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CPU_CLR(cpu, &left);
        pthread_setaffinity_np(*threads[i], sizeof one, &one); // refused: it runs where it did
    }
}

void own_cpus_release(const thread *const threads[], int n) {
    cpu_set_t allowed;
    if (!allowed_here(&allowed)) return;
    for (int i = 1; i < n; i++) pthread_setaffinity_np(*threads[i], sizeof allowed, &allowed);
}
