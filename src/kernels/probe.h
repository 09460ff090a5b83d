// kernels/probe.h - what a machine can do at most: memory read, and multiplications of small integers.
//
// Beside these limits the kernels' own figures are read: matrix times vector is bound by reading, matrix times matrix by multiplying.
// Threads: pure functions; each thread of a measurement runs its own.
#ifndef RN_KERNELS_PROBE_H
#define RN_KERNELS_PROBE_H

#include "kernels/kernels.h"

// Reads n bytes (a multiple of 64, at a multiple of 64), each line once and in order, with the prefetch of the matrix kernels: into
// the first cache, 2 KiB ahead. Returns a sum over them, so that nothing is left out.
uint64_t probe_read(const void *p, size_t n);

// The integer probe of the set, or where it has none of the nearest set below.
int8_probe_fn probe_int8_of(enum cpu_set s);

#endif
