// backend/cpu/cpu_run.h - one op on one thread in the current step: its operands, and the functions
// that run each kind.
#ifndef RN_BACKEND_CPU_RUN_H
#define RN_BACKEND_CPU_RUN_H

#include "backend/cpu/cpu_private.h"

struct op_run {
    struct cpu_backend *b;
    const struct cpu_op *o; // the first of the joined ops
    int i_thread, n_threads;
    size_t n_rows;
};

static inline const struct op_schedule *run_schedule(const struct op_run *x) {
    return &x->o->schedules[x->b->schedule];
}
// The i-th of the ops joined to x.
static inline struct op_run run_member(const struct op_run *x, size_t i) {
    return (struct op_run){x->b, x->o + i, x->i_thread, x->n_threads, x->n_rows};
}

// Row r of an operand: in the thread's private copy if the op's schedule says so. which: the
// operand's OWN_ bit.
static inline float *run_row(const struct op_run *x, int8_t buffer, uint8_t which, size_t r) {
    const struct cpu_backend *b = x->b;
    uint8_t *rows = (uint8_t *)b->buffers[buffer];
    if (run_schedule(x)->own & which)
        rows = b->own + (size_t)x->i_thread * b->copies.bytes + b->copies.row_at[buffer];
    return (float *)(void *)rows + r * b->stride[buffer];
}
static inline float *run_src(const struct op_run *x, size_t r) { return run_row(x, x->o->op.src, OWN_SRC, r); }
static inline float *run_src2(const struct op_run *x, size_t r) { return run_row(x, x->o->op.src2, OWN_SRC2, r); }
static inline float *run_dst(const struct op_run *x, size_t r) { return run_row(x, x->o->op.dst, OWN_DST, r); }
static inline uint8_t *run_act(const struct op_run *x, size_t r) {
    const struct cpu_backend *b = x->b;
    const int32_t act = x->o->act;
    uint8_t *rows = b->acts[act];
    if (run_schedule(x)->own & OWN_ACT) rows = b->own + (size_t)x->i_thread * b->copies.bytes + b->copies.act_at[act];
    return rows + r * b->act_stride[act];
}

// cpu_ops.c
void cpu_op_run(const struct op_run *x);
// Columns [begin, end) of all rows; for column-wise ops.
void cpu_op_columns(const struct op_run *x, size_t begin, size_t end);
void cpu_op_columns_of_row(const struct op_run *x, size_t r, size_t begin, size_t end);
// Passes a product's input to the collector; no other thread may run meanwhile.
void cpu_op_collect(const struct op_run *x);
// For rows [begin, end).
void cpu_store_head(const struct op_run *x, int32_t head, size_t begin, size_t end);
// cpu_linear.c: a linear op with those joined to it.
void linear_run(const struct op_run *x);
// cpu_attend.c: OP_ATTEND, or OP_STORE_KV and OP_ATTEND together.
void attend_run(const struct op_run *x);

// cpu_recur.c: ops with a state, and OP_BONUS
void recur_run(const struct op_run *x);
void recur_bonus(const struct op_run *x, size_t begin, size_t end);

#endif
