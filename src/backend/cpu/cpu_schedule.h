// backend/cpu/cpu_schedule.h - how a step's work is divided among threads, planned over the list of
// ops when a program is loaded.
//
// A barrier costs a microsecond or more, a norm of one row less. So in steps of few rows every
// thread computes row-wise ops for all rows, in private copies, and only matrix products and
// attention are divided. Ops that read the same columns or heads are joined: the thread that claims
// a piece runs all of them on it. A layer of the Llama family then has 5 barriers instead of 10:
//
//   norm, prepare (each) | q, k, v (claimed) || rope (each), keys and values, attention (claimed)
//   || prepare (each), output (claimed) ||
//   add, norm, prepare (each), gate with up and silu (claimed) || prepare (each), down (claimed) ||
//   add (each), ... the next layer
//
// For each of the three schedules (enum cpu_schedule), in this order:
//   cpu_join.c      which ops are joined
//   cpu_copies.c    how each is split, and which of its operands are private copies
//   cpu_barriers.c  before which ops all threads wait
// Nothing here depends on architectures: only on kinds of ops and their buffers. All schedules give
// the same bits.
#ifndef RN_BACKEND_CPU_SCHEDULE_H
#define RN_BACKEND_CPU_SCHEDULE_H

#include "backend/cpu/cpu_private.h"

// Properties of a kind of op; OP_N_KINDS stands for the preparation of activations.
struct op_traits {
    bool claimed; // threads claim pieces of it
    // A column of dst depends on that column of src and src2 only; dst may be src or src2.
    bool by_columns;
    bool in_place;   // dst is also read
    bool meets_rows; // parts of different rows are interleaved
};
extern const struct op_traits cpu_traits[OP_N_KINDS + 1];

// Does dst keep some of its old contents: because it is changed in place, or only part of the row
// is written?
bool cpu_keeps_dst(const struct cpu_backend *b, const struct op *o);

void cpu_join_ops(struct cpu_backend *b, enum cpu_schedule schedule);
void cpu_plan_copies(struct cpu_backend *b, enum cpu_schedule schedule);
void cpu_plan_barriers(struct cpu_backend *b, enum cpu_schedule schedule);

#endif
