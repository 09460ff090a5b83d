// backend/cpu/cpu_experts.h - mixtures of experts: choices, and products of each expert's matrix with the rows that chose it.
//
// A row and one of its choices is a pair. Parts of row buffers lie in the order of pairs: those of expert 0 first, for each expert in
// the order of rows, so that an expert's matrix meets one piece of memory. The place of a pair is its number in that order.
#ifndef RN_BACKEND_CPU_EXPERTS_H
#define RN_BACKEND_CPU_EXPERTS_H

#include "backend/cpu/cpu_run.h"

size_t cpu_route_scratch(const struct program *p);
// Of an op over the parts of n_rows rows.
size_t cpu_experts_scratch(const struct cpu_backend *b, const struct program *p, const struct op *o, size_t n_rows);

// Of rows [begin, end).
void cpu_op_route(const struct op_run *x, size_t begin, size_t end);
void cpu_op_spread(const struct op_run *x, size_t begin, size_t end);
void cpu_op_experts_sum(const struct op_run *x, size_t begin, size_t end);

// OP_EXPERTS, or those that go together and what is made of them column by column.
void experts_run(const struct op_run *x);
void cpu_experts_collect(const struct op_run *x);

#endif
