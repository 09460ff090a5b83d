// backend/cpu/cpu_backend.h - programs on the CPU: a kernel set, a thread pool, pages in memory.
//
// Bits do not depend on the pool's size or the kernel set: outputs are split over threads, sums never (docs/arithmetic.md).
#ifndef RN_BACKEND_CPU_BACKEND_H
#define RN_BACKEND_CPU_BACKEND_H

#include "backend/backend.h"
#include "base/pool.h"
#include "kernels/kernels.h"

// threads and kernels stay the caller's and must outlive the backend.
rn_status cpu_backend_create(const struct kernel_set *kernels, pool *threads, enum kv_codec codec, backend **out,
                             rn_error *err);

// Weights are used as the file has them: before plan and load. Nothing is copied; panels are made a few at a time, each time they are
// multiplied with. Same bits.
void cpu_backend_keep_rows(backend *b);

#endif
