// backend/cpu/cpu_profile.h - profiling hooks of run(). Without a profile b->profile is NULL and
// none of them is called.
//
// Joined ops are timed part by part and reported one after the other, within the time that they
// took together.
// Threads: functions that take an op_run are called by each thread of the pool, the others by the
// step thread.
#ifndef RN_BACKEND_CPU_PROFILE_H
#define RN_BACKEND_CPU_PROFILE_H

#include "backend/cpu/cpu_run.h"

// Begins a new profile with room for n_events. RN_E_NOMEM: none is running then.
rn_status cpu_profile_begin(struct cpu_backend *b, size_t n_events, rn_error *err);
// Ends the profile; NULL: none was running.
const struct backend_profile *cpu_profile_end(struct cpu_backend *b);
void cpu_profile_free(struct cpu_backend *b);

void cpu_profile_step_begin(struct cpu_backend *b);
// Before and after an op with those joined to it; and after each part of the i-th of them.
void cpu_profile_begin_ops(const struct op_run *x);
void cpu_profile_add_part(const struct op_run *x, size_t i);
void cpu_profile_end_ops(const struct op_run *x);
static inline void cpu_profile_part(const struct op_run *x, size_t i) {
    if (x->b->profile) cpu_profile_add_part(x, i);
}
// Counts n_rows rows and n_slices slices of the op's matrix: for ops whose work does not follow
// from shapes.
void cpu_profile_count(const struct op_run *x, size_t n_slices, size_t n_rows);
void cpu_profile_step_end(struct cpu_backend *b);

#endif
