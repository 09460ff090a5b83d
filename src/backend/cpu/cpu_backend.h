// backend/cpu/cpu_backend.h - programs on the CPU: a kernel set, a thread pool, pages in memory.
//
// Results do not depend on the number of threads or the kernel set: outputs are divided among
// threads, sums are not (docs/arithmetic.md).
#ifndef RN_BACKEND_CPU_BACKEND_H
#define RN_BACKEND_CPU_BACKEND_H

#include "backend/backend.h"
#include "kernels/kernels.h"

// spec: threads and kernels must be given. With keeps_rows panels are packed a few at a time
// whenever they are used.
rn_status cpu_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

#endif
