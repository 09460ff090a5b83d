// backend/cpu/cpu_profile.h - the hooks of run() for profiling. While nobody asked, b->profile is NULL and none is called.
//
// Threads: cpu_profile_op() from each thread of the pool, with its own number; the rest from the step thread.
#ifndef RN_BACKEND_CPU_PROFILE_H
#define RN_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu_private.h"

// A new count with room for n_events. RN_E_NOMEM: none is running then.
rn_status cpu_profile_begin(struct cpu_backend *b, size_t n_events, rn_error *err);
// Stops; NULL: none was running.
const struct backend_profile *cpu_profile_end(struct cpu_backend *b);
void cpu_profile_free(struct cpu_backend *b);

void cpu_profile_step_begin(struct cpu_backend *b);
void cpu_profile_op(struct cpu_backend *b, const struct cpu_op *o, int i_thread,
                    int64_t begin_ns); // it has just ended
void cpu_profile_step_end(struct cpu_backend *b);

#endif
