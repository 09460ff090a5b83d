// base/crowding.h - how many of a pool's threads to run while other programs want the cores. Private to base.
//
// A thread that shares its core is off it for milliseconds at a time, and at the next barrier all others wait for it: two threads with a
// core and a half between them are slower than one that has a core. So threads that lose much of their time to others are left out, and
// asked in again after a while, which grows while that turns out to be in vain.
// Ownership: the pool's. Threads: one at a time.
#ifndef RN_BASE_CROWDING_H
#define RN_BASE_CROWDING_H

#include <stdint.h>

#define CROWDING_WINDOW_NS ((int64_t)20000000) // between two judgements: some time slices

struct crowding {
    int n_threads, n_active; // of them
    int64_t changed_ns;      // when n_active last changed
    int64_t patience_ns;     // until one more is tried
};

void crowding_init(struct crowding *c, int n_threads);
// worst: the part of a window, in [0, 1], in which one of the active threads could have run and did not, of whichever lost most.
void crowding_judge(struct crowding *c, int64_t now_ns, double worst);

#endif
