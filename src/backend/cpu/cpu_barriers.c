// backend/cpu/cpu_barriers.c - where threads wait for each other: only before an op that touches what another thread has written.
#include "backend/cpu/cpu_schedule.h"

// What an op reads or writes of the memory that threads share, as bits: row buffers, activation buffers, and what is not a buffer.
struct touched {
    uint64_t rows, acts;
    bool rotations, pages;
};
struct touch {
    struct touched reads, writes;
};

_Static_assert(PROGRAM_MAX_BUFFERS <= 64 && CPU_MAX_ACTS <= 64, "a bit for each buffer");

static uint64_t bit(int32_t i, bool own) { return i < 0 || own ? 0 : (uint64_t)1 << i; }
static void mark(struct touched *t, const struct touched *more) {
    t->rows |= more->rows, t->acts |= more->acts;
    t->rotations |= more->rotations, t->pages |= more->pages;
}
static bool meet(const struct touched *a, const struct touched *b) {
    return (a->rows & b->rows) || (a->acts & b->acts) || (a->rotations && b->rotations) || (a->pages && b->pages);
}

static void add_touch(const struct cpu_backend *b, struct touch *t, const struct cpu_op *o,
                      enum cpu_schedule schedule) {
    const struct op_schedule *w = &o->schedules[schedule];
    const enum op_kind k = o->op.kind;
    const uint64_t act = bit(o->act, w->own & OWN_ACT), src = bit(o->op.src, w->own & OWN_SRC);
    const bool reads_act = o->act >= 0 && !o->prepare;
    mark(&t->reads,
         &(struct touched){.rows = (reads_act && !o->adapters ? 0 : src) | bit(o->op.src2, w->own & OWN_SRC2),
                           .acts = reads_act ? act : 0,
                           .rotations = k == OP_ROPE,
                           .pages = k == OP_ATTEND});
    if (cpu_keeps_dst(b, &o->op)) t->reads.rows |= bit(o->op.dst, w->own & OWN_DST && !w->fills_dst);
    mark(&t->writes, &(struct touched){.rows = bit(o->op.dst, w->own & OWN_DST),
                                       .acts = o->prepare ? act : 0,
                                       .pages = k == OP_STORE_KV});
}

// A barrier is needed before an op that reads or writes what another thread may have written (or still reads) since the last one.
// Between two SPLIT_ROWS ops over the same rows each thread touches only its own rows.
void cpu_plan_barriers(struct cpu_backend *b, enum cpu_schedule schedule) {
    struct touch rows = {.writes.rotations = true},
                 any = {0}; // since the last barrier: by SPLIT_ROWS ops, and by the others
    bool wanted = false;
    for (size_t i = 0; i < b->n_ops; i += b->ops[i].schedules[schedule].n_together) {
        struct op_schedule *w = &b->ops[i].schedules[schedule];
        const bool by_rows = w->split == SPLIT_ROWS && !cpu_traits[b->ops[i].op.kind].meets_rows;
        struct touch t = {0}, others = any;
        for (size_t j = 0; j < w->n_together; j++) add_touch(b, &t, &b->ops[i + j], schedule);
        if (!by_rows) mark(&others.reads, &rows.reads), mark(&others.writes, &rows.writes);
        w->barrier = meet(&t.reads, &others.writes) || meet(&t.writes, &others.writes) ||
                     meet(&t.writes, &others.reads) || (b->ops[i].op.rows != ROWS_ALL) != wanted;
        wanted = b->ops[i].op.rows != ROWS_ALL;
        if (w->barrier) rows = any = (struct touch){0};
        struct touch *const sum = by_rows ? &rows : &any;
        mark(&sum->reads, &t.reads), mark(&sum->writes, &t.writes);
    }
}
