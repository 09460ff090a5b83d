// backend/cpu/cpu_schedule.h - how a step's work is divided among threads, planned over the list of ops when a program is loaded.
//
// A barrier costs a microsecond or more, a norm of one row less. So in steps of few rows every thread computes what goes row by row for
// all rows, in private copies, and only matrices and attention are divided. Ops that read the same columns or heads are joined: whoever
// claimed a piece takes it through all of them. A layer of the Llama family then has 5 barriers instead of 10:
//
//   norm, prepare (each) | q, k, v (claimed) || rope (each), keys and values, attention (claimed) || prepare (each), output (claimed) ||
//   add, norm, prepare (each), gate with up and silu (claimed) || prepare (each), down (claimed) || add (each), ... the next layer
//
// For each of the three schedules (enum cpu_schedule), in this order:
//   cpu_join.c      which ops are joined
//   cpu_copies.c    how each is split, and which of its operands are private copies
//   cpu_barriers.c  before which ops all threads wait
// Nothing here knows architectures: patterns are kinds of ops and the buffers they name. Schedules differ in no bit.
#ifndef RN_BACKEND_CPU_SCHEDULE_H
#define RN_BACKEND_CPU_SCHEDULE_H

#include "backend/cpu/cpu_private.h"

// What a schedule needs to know of a kind of op; OP_N_KINDS is the preparation of activations.
struct op_traits {
    bool claimed;    // pieces are claimed
    bool by_columns; // a column of dst depends on the same column of src and src2 only, and dst may be either
    bool in_place;   // dst is read too
    bool meets_rows; // parts of a row lie among those of others
};
extern const struct op_traits cpu_traits[OP_N_KINDS + 1];

// What dst held before still counts after the op: it is changed in place, or only a part of its row is written.
bool cpu_keeps_dst(const struct cpu_backend *b, const struct op *o);

void cpu_join_ops(struct cpu_backend *b, enum cpu_schedule schedule);
void cpu_plan_copies(struct cpu_backend *b, enum cpu_schedule schedule);
void cpu_plan_barriers(struct cpu_backend *b, enum cpu_schedule schedule);

#endif
