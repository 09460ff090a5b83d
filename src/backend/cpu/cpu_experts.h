// backend/cpu/cpu_experts.h - mixtures of experts: routing, and products of each expert's matrix
// with the rows routed to it.
//
// A pair is a row and one of its experts. Parts of row buffers are stored in the order of pairs: by
// expert, then by row, so that the rows of an expert are contiguous. The place of a pair is its
// index in that order.
#ifndef RN_BACKEND_CPU_EXPERTS_H
#define RN_BACKEND_CPU_EXPERTS_H

#include "backend/cpu/cpu_run.h"

size_t cpu_route_scratch(const struct program *p);
// Scratch memory of an op over the parts of n_rows rows, per thread.
size_t cpu_experts_scratch(const struct cpu_backend *b, const struct program *p, const struct op *o, size_t n_rows);

// Routes rows [begin, end).
void cpu_op_route(const struct op_run *x, size_t begin, size_t end);
void cpu_op_spread(const struct op_run *x, size_t begin, size_t end);
void cpu_op_experts_sum(const struct op_run *x, size_t begin, size_t end);

// Runs OP_EXPERTS, or joined ones with the column-wise op that follows them.
void experts_run(const struct op_run *x);
void cpu_experts_collect(const struct op_run *x);

#endif
