// kernels/probe.h - measures the machine's limits: memory read bandwidth and int8 multiply
// throughput.
//
// The kernels are compared with these limits: matrix-vector products are bound by reading,
// matrix-matrix products by multiplying.
// Threads: pure functions; each thread of a measurement runs its own.
#ifndef RN_KERNELS_PROBE_H
#define RN_KERNELS_PROBE_H

#include "kernels/kernels.h"

// Reads n bytes at p (both multiples of 64), each cache line once and in order, prefetching as the
// matrix kernels do: 2 KiB ahead, into the L1 cache. Returns a sum over all of them, so that no
// read is optimized away.
uint64_t probe_read(const void *p, size_t n);

// The int8 probe of the set, or of the next lower set that has one.
int8_probe_fn probe_int8_of(enum cpu_set s);

#endif
