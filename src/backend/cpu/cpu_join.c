// backend/cpu/cpu_join.c - joined ops: the thread that claims a piece runs all of them on it, without barriers in between.
#include "backend/cpu/cpu_schedule.h"

static void join(struct cpu_backend *b, enum cpu_schedule schedule, size_t first, size_t n) {
    for (size_t i = 0; i < n; i++) b->ops[first + i].schedules[schedule].n_together = i == 0 ? (uint8_t)n : 0;
}

static bool is_linear(const struct cpu_backend *b, enum cpu_schedule schedule, size_t i) {
    return b->ops[i].op.kind == OP_LINEAR && b->ops[i].schedules[schedule].n_together == 1;
}

// Do two products of experts read the same gathered rows, in the same format?
static bool same_input(const struct cpu_op *a, const struct cpu_op *b) {
    return a->op.src == b->op.src && a->op.src2 == b->op.src2 && a->act == b->act && a->format == b->format;
}

// A column-wise op and the products right before it that compute its sources: gate, up and the activation. In steps of many rows only
// those of experts, whose rows are then gathered once.
static void join_columns(struct cpu_backend *b, enum cpu_schedule schedule, size_t last) {
    const struct op *to = &b->ops[last].op;
    size_t first = last;
    while (first > 0 && last - first + 1 < CPU_MOST_TOGETHER &&
           b->ops[first - 1].schedules[schedule].n_together == 1) {
        const struct op *o = &b->ops[first - 1].op;
        const bool makes_source = o->dst == to->src || o->dst == to->src2;
        const bool fits =
            o->kind == OP_EXPERTS || (o->kind == OP_LINEAR && !o->linear.by_head && schedule != SCHEDULE_ROWS);
        if (!makes_source || !fits || o->rows != to->rows || o->src == to->dst) break;
        if (first < last && o->kind != b->ops[first].op.kind) break;
        if (first < last && o->kind == OP_EXPERTS && !same_input(&b->ops[first - 1], &b->ops[first])) break;
        first--;
    }
    if (first < last) join(b, schedule, first, last - first + 1);
}

// Consecutive linear ops that do not read each other's results: q, k and v.
static size_t join_linears(struct cpu_backend *b, enum cpu_schedule schedule, size_t first) {
    size_t n = 1;
    for (; first + n < b->n_ops && n < CPU_MOST_TOGETHER && is_linear(b, schedule, first + n); n++) {
        const struct op *o = &b->ops[first + n].op;
        const struct op *other = &b->ops[first].op;
        bool apart = o->rows == other->rows;
        for (size_t i = first; i < first + n; i++) {
            const struct op *before = &b->ops[i].op;
            apart = apart && o->dst != before->dst && o->dst != before->src && o->src != before->dst;
        }
        if (!apart) break;
    }
    join(b, schedule, first, n);
    return n;
}

void cpu_join_ops(struct cpu_backend *b, enum cpu_schedule schedule) {
    for (size_t i = 0; i < b->n_ops; i++) b->ops[i].schedules[schedule] = (struct op_schedule){.n_together = 1};
    for (size_t i = 0; i < b->n_ops; i++)
        if (cpu_traits[b->ops[i].op.kind].by_columns) join_columns(b, schedule, i);
    if (schedule == SCHEDULE_ROWS) return;
    for (size_t i = 0; i < b->n_ops; i++)
        if (is_linear(b, schedule, i)) i += join_linears(b, schedule, i) - 1;
    for (size_t i = 0; schedule == SCHEDULE_STORES && i + 1 < b->n_ops; i++) {
        const struct op *store = &b->ops[i].op, *attend = &b->ops[i + 1].op;
        if (store->kind == OP_STORE_KV && attend->kind == OP_ATTEND && store->layer == attend->layer &&
            attend->dst != store->src && attend->dst != store->src2)
            join(b, schedule, i, 2);
    }
}
