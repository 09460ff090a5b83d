// backend/cpu/cpu_profile.h - the hooks of run() for profiling. While nobody asked, b->profile is NULL and none is called.
//
// Ops that go together are timed part by part, and told one behind the other, in the time that they took together.
// Threads: those of an op_run from each thread of the pool, with its own number; the rest from the step thread.
#ifndef RN_BACKEND_CPU_PROFILE_H
#define RN_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu_run.h"

// A new count with room for n_events. RN_E_NOMEM: none is running then.
rn_status cpu_profile_begin(struct cpu_backend *b, size_t n_events, rn_error *err);
// Stops; NULL: none was running.
const struct backend_profile *cpu_profile_end(struct cpu_backend *b);
void cpu_profile_free(struct cpu_backend *b);

void cpu_profile_step_begin(struct cpu_backend *b);
// Around an op, or those that go together with it; between them, each time when a part of the i-th has just ended.
void cpu_profile_begin_ops(const struct op_run *x);
void cpu_profile_add_part(const struct op_run *x, size_t i);
void cpu_profile_end_ops(const struct op_run *x);
static inline void cpu_profile_part(const struct op_run *x, size_t i) {
    if (x->b->profile) cpu_profile_add_part(x, i);
}
// n_rows rows with n_slices slices of the op's matrix. For ops whose work shapes alone do not tell.
void cpu_profile_count(const struct op_run *x, size_t n_slices, size_t n_rows);
void cpu_profile_step_end(struct cpu_backend *b);

#endif
