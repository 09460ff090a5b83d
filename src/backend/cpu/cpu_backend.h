// backend/cpu/cpu_backend.h - programs on the CPU: a kernel set, a thread pool, pages in memory.
//
// Bits do not depend on the pool's size or the kernel set: outputs are split over threads, sums never (docs/arithmetic.md).
#ifndef RN_BACKEND_CPU_BACKEND_H
#define RN_BACKEND_CPU_BACKEND_H

#include "backend/backend.h"
#include "kernels/kernels.h"

// spec: threads and kernels are needed. With keeps_rows panels are made a few at a time, each time they are multiplied with.
rn_status cpu_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

#endif
