// base/own_cpus.h - keeps the threads of a pool on processors of their own for a while. Private to base.
//
// A scheduler gives a thread whose processor another program uses the one that just became idle, though another of our threads is about to wake
// up there: two of ours then share one processor, and the other has nothing but, say, a compiler at nice 19. Linux ends that after 30 to 100
// milliseconds, which are some steps.
// Ownership: the caller's. Threads: one at a time.
#ifndef RN_BASE_OWN_CPUS_H
#define RN_BASE_OWN_CPUS_H

#include "base/thread.h"

int own_cpu_now(void); // the processor that the calling thread runs on; -1: unknown

// Binds thread i, 0 < i < n, to a processor that neither the calling thread (number 0) nor one before it has, among those the calling thread may
// use: to last[i], where it ran last, if it can be. Nothing is done where these are fewer than n.
void own_cpus_hold(const thread *const threads[], const int last[], int n);
// Lets the threads run wherever the calling one may.
void own_cpus_release(const thread *const threads[], int n);

#endif
