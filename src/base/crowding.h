// base/crowding.h - how many of a pool's threads to run, and where, while other programs want the cores. Private to base.
//
// A thread that shares its core is descheduled for milliseconds at a time, and at the next barrier all others wait for it: two threads
// on one and a half cores are slower than one thread on one core. So threads that lose much of their time to other programs are first kept
// on cores of their own (base/own_cpus.h): what they lost may be each other's time, as beside programs of low priority, which take next to
// none. If they still lose much, some are left out and tried again later, with a delay that grows each time it does not help.
// Ownership: the pool's. Threads: one at a time.
#ifndef RN_BASE_CROWDING_H
#define RN_BASE_CROWDING_H

#include <stdbool.h>
#include <stdint.h>

#define CROWDING_WINDOW_NS ((int64_t)20000000) // between two judgements: some time slices

struct crowding {
    int n_threads, n_active; // of them
    bool can_part, apart;    // the active threads can have, and have, a core each
    int64_t changed_ns;      // when n_active or apart last changed
    int64_t patience_ns;     // delay until one more thread is tried
    int64_t apart_ns;        // how long all threads are kept apart
};

void crowding_init(struct crowding *c, int n_threads, bool can_part);
// worst: of the active thread that lost most, the share of the window, in [0, 1], in which it was runnable but did not run.
void crowding_judge(struct crowding *c, int64_t now_ns, double worst);

#endif
