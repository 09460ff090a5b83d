// backend/cpu/cpu_ways.c - who does what of a step: the ways of many and of few rows, planned over the list of ops, with barriers only
// where one thread reads what another wrote.
//
// A barrier costs a microsecond or more, a norm of one row less. So in steps of few rows every thread does what is done row by row for
// all rows, in copies of its own, and only matrices and attention are divided. What follows on these by the same columns or heads is done
// by whoever has claimed them. A layer of the Llama family then has 5 barriers instead of 10:
//
//   norm, prepare (each) | q, k, v (claimed) || rope (each), keys and values, attention (claimed) || prepare (each), output (claimed) ||
//   add, norm, prepare (each), gate with up and silu (claimed) || prepare (each), down (claimed) || add (each), ... the next layer
//
// Nothing here knows architectures: patterns are kinds of ops and the buffers they name, and what fits none goes as in steps of many rows.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"

// As many rows as have their copies in so many bytes, and at least one, are few. Measured on two threads with rows of 8 KB (256 wide) and
// 17 KB (576 wide): 2 rows gain 20 and 4 %, 6 rows gain 18 and lose 5 %.
#define MOST_OWN_BYTES ((size_t)64 << 10)

static const struct {
    bool claimed;    // pieces are claimed
    bool by_columns; // a column of dst depends on the same column of src and src2 only, and dst may be either
    bool in_place;   // dst is read too
    bool meets_rows; // parts of a row lie among those of others
} kinds[OP_N_KINDS + 1] = {
    [OP_LINEAR] = {.claimed = true},         [OP_ATTEND] = {.claimed = true},
    [OP_GATE] = {.by_columns = true},        [OP_ACTIVATE] = {.by_columns = true},
    [OP_ROPE] = {.in_place = true},          [OP_ADD] = {.in_place = true},
    [OP_SCALE] = {.in_place = true},         [OP_SOFTCAP] = {.in_place = true},
    [OP_TEMPERATURE] = {.in_place = true},   [OP_COPY] = {.in_place = true}, // of its row a part
    [OP_EXPERTS] = {.claimed = true},        [OP_GATE_OAI] = {.by_columns = true},
    [OP_SCALE_BY] = {.in_place = true},      [OP_SPREAD] = {.meets_rows = true},
    [OP_EXPERTS_SUM] = {.meets_rows = true}, [OP_MUL] = {.in_place = true},
    [OP_CONV] = {.claimed = true},           [OP_SSM] = {.claimed = true},
    [OP_DELTA] = {.claimed = true},
};

// Copies ------------------------------------------------------------------------------------------------------------------

// What each thread can do for itself: all that goes by rows, but not what it writes for all to see, or for the caller.
static bool each_can(const struct program *p, const struct op *o) {
    const bool is_result = o->dst >= 0 && (o->dst == p->hidden || o->dst == p->logits);
    return !kinds[o->kind].claimed && o->kind != OP_STORE_KV && !o->wanted_rows && !is_result;
}

struct own_copies cpu_own_copies(const struct program *p, const struct backend_sizes *s, int n_threads,
                                 const struct act_table *acts) {
    struct own_copies c = {0};
    bool written[PROGRAM_MAX_BUFFERS] = {0};
    size_t row_bytes = 0;
    if (n_threads == 1) return c;
    for (size_t i = 0; i < p->n_ops; i++)
        if (each_can(p, &p->ops[i]) && p->ops[i].dst >= 0) written[p->ops[i].dst] = true;
    for (int32_t i = 0; i < p->n_buffers; i++)
        if (written[i]) c.row_at[i] = row_bytes, row_bytes += round_up(p->width[i], PANEL_ROWS) * sizeof(float);
    for (int32_t i = 0; i < acts->n; i++)
        if (!p->wanted_rows[acts->row[i].src])
            c.act_at[i] = row_bytes,
            row_bytes += acts->row[i].n_part * act_row_stride(acts->row[i].format, acts->row[i].k);
    if (row_bytes == 0) return c;
    c.n_rows = MOST_OWN_BYTES / row_bytes;
    if (c.n_rows > s->n_batch) c.n_rows = s->n_batch;
    if (c.n_rows == 0) c.n_rows = 1;
    for (int32_t i = 0; i < p->n_buffers; i++) c.row_at[i] *= c.n_rows;
    for (int32_t i = 0; i < acts->n; i++) c.act_at[i] *= c.n_rows;
    c.bytes = round_up(c.n_rows * row_bytes, 4096); // no page for two threads
    return c;
}

// What dst held before still counts after the op: it is changed in place, or but a part of its row is written.
static bool keeps_some(const struct cpu_backend *b, const struct op *o) {
    return kinds[o->kind].in_place || (o->dst >= 0 && (size_t)o->width < b->p->width[o->dst]);
}

// Which operands are copies: what was written last, by each thread or for all.
static void plan_copies(struct cpu_backend *b, enum cpu_way way) {
    bool rows[PROGRAM_MAX_BUFFERS] = {0}, acts[CPU_MAX_ACTS] = {0};
    for (size_t i = 0; i < b->n_ops; i++) {
        const struct cpu_op *o = &b->ops[i];
        struct op_way *w = &b->ops[i].ways[way];
        const bool alone = w->n_together == 1, each = way != WAY_ROWS && alone && each_can(b->p, &o->op);
        w->split = kinds[o->op.kind].claimed || !alone ? SPLIT_CLAIM : each ? SPLIT_EACH : SPLIT_ROWS;
        if (o->op.src >= 0 && rows[o->op.src]) w->own |= OWN_SRC;
        if (o->op.src2 >= 0 && rows[o->op.src2]) w->own |= OWN_SRC2;
        if (o->op.dst >= 0) {
            w->fills_dst = each && keeps_some(b, &o->op) && !rows[o->op.dst];
            rows[o->op.dst] = each;
            if (each) w->own |= OWN_DST;
        }
        if (o->prepare) acts[o->act] = each;
        if (o->act >= 0 && acts[o->act]) w->own |= OWN_ACT;
    }
}

// Ops that go together --------------------------------------------------------------------------------------------------

static void join(struct cpu_backend *b, enum cpu_way way, size_t first, size_t n) {
    for (size_t i = 0; i < n; i++) b->ops[first + i].ways[way].n_together = i == 0 ? (uint8_t)n : 0;
}

static bool is_linear(const struct cpu_backend *b, enum cpu_way way, size_t i) {
    return b->ops[i].op.kind == OP_LINEAR && b->ops[i].ways[way].n_together == 1;
}

// Do products of experts read the same rows, brought side by side in the same form?
static bool same_input(const struct cpu_op *a, const struct cpu_op *b) {
    return a->op.src == b->op.src && a->op.src2 == b->op.src2 && a->act == b->act && a->format == b->format;
}

// An op by columns and the products right before it that make its sources: gate, up and what is made of them. Of many rows those of
// experts alone, whose rows are then brought side by side once.
static void join_columns(struct cpu_backend *b, enum cpu_way way, size_t last) {
    const struct op *to = &b->ops[last].op;
    size_t first = last;
    while (first > 0 && last - first + 1 < CPU_MOST_TOGETHER && b->ops[first - 1].ways[way].n_together == 1) {
        const struct op *o = &b->ops[first - 1].op;
        const bool makes_source = o->dst == to->src || o->dst == to->src2;
        const bool fits = o->kind == OP_EXPERTS || (o->kind == OP_LINEAR && !o->src_parts && way != WAY_ROWS);
        if (!makes_source || !fits || o->wanted_rows != to->wanted_rows || o->logits_rows != to->logits_rows ||
            o->src == to->dst)
            break;
        if (first < last && o->kind != b->ops[first].op.kind) break;
        if (first < last && o->kind == OP_EXPERTS && !same_input(&b->ops[first - 1], &b->ops[first])) break;
        first--;
    }
    if (first < last) join(b, way, first, last - first + 1);
}

// Linear ops that follow on each other and do not read what the others write: q, k and v.
static size_t join_linears(struct cpu_backend *b, enum cpu_way way, size_t first) {
    size_t n = 1;
    for (; first + n < b->n_ops && n < CPU_MOST_TOGETHER && is_linear(b, way, first + n); n++) {
        const struct op *o = &b->ops[first + n].op;
        const struct op *other = &b->ops[first].op;
        bool apart = o->wanted_rows == other->wanted_rows && o->logits_rows == other->logits_rows;
        for (size_t i = first; i < first + n; i++) {
            const struct op *before = &b->ops[i].op;
            apart = apart && o->dst != before->dst && o->dst != before->src && o->src != before->dst;
        }
        if (!apart) break;
    }
    join(b, way, first, n);
    return n;
}

static void join_ops(struct cpu_backend *b, enum cpu_way way) {
    for (size_t i = 0; i < b->n_ops; i++) b->ops[i].ways[way] = (struct op_way){.n_together = 1};
    for (size_t i = 0; i < b->n_ops; i++)
        if (kinds[b->ops[i].op.kind].by_columns) join_columns(b, way, i);
    if (way == WAY_ROWS) return;
    for (size_t i = 0; i < b->n_ops; i++)
        if (is_linear(b, way, i)) i += join_linears(b, way, i) - 1;
    for (size_t i = 0; way == WAY_STORES && i + 1 < b->n_ops; i++) {
        const struct op *store = &b->ops[i].op, *attend = &b->ops[i + 1].op;
        if (store->kind == OP_STORE_KV && attend->kind == OP_ATTEND && store->layer == attend->layer &&
            attend->dst != store->src && attend->dst != store->src2)
            join(b, way, i, 2);
    }
}

// Barriers ----------------------------------------------------------------------------------------------------------------

// What ops touch of what all threads see, as bits: row buffers, activation buffers, and what is no buffer.
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

static void add_touch(const struct cpu_backend *b, struct touch *t, const struct cpu_op *o, enum cpu_way way) {
    const struct op_way *w = &o->ways[way];
    const enum op_kind k = o->op.kind;
    const uint64_t act = bit(o->act, w->own & OWN_ACT), src = bit(o->op.src, w->own & OWN_SRC);
    const bool reads_act = o->act >= 0 && !o->prepare;
    mark(&t->reads, &(struct touched){.rows = (reads_act ? 0 : src) | bit(o->op.src2, w->own & OWN_SRC2),
                                      .acts = reads_act ? act : 0,
                                      .rotations = k == OP_ROPE,
                                      .pages = k == OP_ATTEND});
    if (keeps_some(b, &o->op)) t->reads.rows |= bit(o->op.dst, w->own & OWN_DST && !w->fills_dst);
    mark(&t->writes, &(struct touched){.rows = bit(o->op.dst, w->own & OWN_DST),
                                       .acts = o->prepare ? act : 0,
                                       .pages = k == OP_STORE_KV});
}

// A barrier is needed before an op that reads or writes what another thread may have written (or still reads) since the last one.
// Between two SPLIT_ROWS ops over the same rows every thread meets only its own rows.
static void plan_barriers(struct cpu_backend *b, enum cpu_way way) {
    struct touch rows = {.writes.rotations = true},
                 any = {0}; // since the last barrier: by SPLIT_ROWS ops, and by the others
    bool wanted = false;
    for (size_t i = 0; i < b->n_ops; i += b->ops[i].ways[way].n_together) {
        struct op_way *w = &b->ops[i].ways[way];
        const bool by_rows = w->split == SPLIT_ROWS && !kinds[b->ops[i].op.kind].meets_rows;
        struct touch t = {0}, others = any;
        for (size_t j = 0; j < w->n_together; j++) add_touch(b, &t, &b->ops[i + j], way);
        if (!by_rows) mark(&others.reads, &rows.reads), mark(&others.writes, &rows.writes);
        w->barrier = meet(&t.reads, &others.writes) || meet(&t.writes, &others.writes) ||
                     meet(&t.writes, &others.reads) || b->ops[i].op.wanted_rows != wanted;
        wanted = b->ops[i].op.wanted_rows;
        if (w->barrier) rows = any = (struct touch){0};
        struct touch *const sum = by_rows ? &rows : &any;
        mark(&sum->reads, &t.reads), mark(&sum->writes, &t.writes);
    }
}

void cpu_ways_plan(struct cpu_backend *b) {
    for (enum cpu_way way = 0; way < CPU_N_WAYS; way++) {
        join_ops(b, way);
        plan_copies(b, way);
        plan_barriers(b, way);
    }
}

// The collector reads inputs where all threads see them.
enum cpu_way cpu_way_of_step(const struct cpu_backend *b) {
    if (b->batch->n_rows > b->copies.n_rows || b->collect) return WAY_ROWS;
    return b->one_stores ? WAY_STORES : WAY_EACH;
}
