// backend/cpu/cpu_adapters.h - products with the matrices of adapters, in addition to those of the
// model (op.weights.adapters).
//
// Of a row x that uses an adapter, A x is computed first, in float from the row itself, whatever
// format the model's matrix takes. In steps of few rows each thread computes it for itself; in those
// of many rows threads share the rows and wait for each other once. B is multiplied piece by piece,
// right after the model's matrix. Matrices are kept as panels of floats.
#ifndef RN_BACKEND_CPU_ADAPTERS_H
#define RN_BACKEND_CPU_ADAPTERS_H

#include "backend/cpu/cpu_run.h"

// Loads the matrices of all adapters; shares those of b->weights_of.
rn_status cpu_adapters_load(struct cpu_backend *b, rn_error *err);
// Bytes of the matrices; 0 with weights_of.
uint64_t cpu_adapters_bytes(const struct cpu_backend *b, const struct program *p);
// Row buffers. n_own: rows of the threads' private copies (struct own_copies).
uint64_t cpu_adapters_room_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s,
                                 size_t n_own);
rn_status cpu_adapters_take_room(struct cpu_backend *b, rn_error *err);
uint64_t cpu_adapters_resident(const struct cpu_backend *b);      // of the matrices
uint64_t cpu_adapters_room_resident(const struct cpu_backend *b); // of the row buffers
void cpu_adapters_free(struct cpu_backend *b);

// Before a step: notes which adapters the rows of b->batch use.
void cpu_adapters_step(struct cpu_backend *b);
// Before the pieces of linear ops: computes A x for the op and the n - 1 that are joined to it.
// Called by all threads; in steps of many rows they wait for each other.
void cpu_adapters_begin(const struct op_run *x, size_t n);
// Adds B (A x) to panels [begin, end) of a slice, in all rows. member: number of the op among the
// joined ones.
void cpu_adapters_add(const struct op_run *x, size_t member, size_t slice, size_t begin, size_t end);
// Adds B (A x) to the row of an embedding.
void cpu_adapters_add_token(const struct op_run *x, size_t row, float *out);

// Rows that chose the same expert: row i reads src + (by_row ? row_of[i] : i) * src_stride and
// writes out + i * out_stride (strides in floats); row_of[i] is its row in the batch.
struct expert_rows {
    const float *src;
    size_t src_stride;
    bool by_row;
    const uint32_t *row_of;
    size_t n;
    float *out;
    size_t out_stride;
};
// Adds B (A x) to panels [begin, end) of the expert's outputs.
void cpu_adapters_add_expert(const struct op_run *x, size_t expert, const struct expert_rows *rows, size_t begin,
                             size_t end);

#endif
