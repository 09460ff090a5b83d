// backend/cpu/cpu_lower.c - a program's ops made ready for the CPU: activations prepared once for all matrices that read them, barriers
// only where one thread reads what another wrote, buffers taken.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"
#include "base/mem_use.h"

#define CLAIM_STRIDE (64 / sizeof(atomic_size_t)) // a cache line each: threads hammer them

static enum op_split split_of(enum op_kind k) { return k == OP_LINEAR || k == OP_ATTEND ? SPLIT_CLAIM : SPLIT_ROWS; }

// The activation buffers: which row buffer, in which format. act_find() makes the row when there is none yet; -1: all are taken.
struct act_table {
    int32_t n;
    struct {
        int8_t src;
        enum act_format format;
        size_t k;
    } row[CPU_MAX_ACTS];
};
static int32_t act_find(struct act_table *t, int8_t src, enum act_format format, size_t k) {
    for (int32_t i = 0; i < t->n; i++)
        if (t->row[i].src == src && t->row[i].format == format && t->row[i].k == k) return i;
    if (t->n == CPU_MAX_ACTS) return -1;
    t->row[t->n].src = src;
    t->row[t->n].format = format;
    t->row[t->n].k = k;
    return t->n++;
}

static enum act_format format_of(const struct kernel_set *k, const struct program *p, const struct op *o) {
    return o->kind == OP_LINEAR ? k->matmul[p->matrices[o->matrix].type].act : ACT_F32;
}

static bool find_acts(const struct kernel_set *k, const struct program *p, struct act_table *t) {
    for (size_t i = 0; i < p->n_ops; i++) {
        const enum act_format f = format_of(k, p, &p->ops[i]);
        if (f != ACT_F32 && act_find(t, p->ops[i].src, f, p->matrices[p->ops[i].matrix].k) < 0) return false;
    }
    return true;
}

static size_t buffer_rows(const struct program *p, const struct backend_sizes *s, int32_t buffer) {
    return p->wanted_rows[buffer] ? s->n_wanted : s->n_batch;
}

size_t cpu_scratch_bytes(const struct cpu_backend *b, const struct program *p) {
    size_t most = attend_scratch_bytes(b, p);
    for (size_t i = 0; i < p->n_ops; i++) {
        if (p->ops[i].kind != OP_LINEAR) continue;
        const struct matrix *m = &p->matrices[p->ops[i].matrix];
        const struct matmul_ops *ops = &b->k->matmul[m->type];
        const size_t panels = b->keeps_rows ? cpu_panels_at_once(ops, m->k) : 0;
        const size_t bytes =
            (ops->gemm ? ops->gemm_scratch(m->k) : 0) + (panels ? panels * ops->panel_bytes(m->k) : 0);
        if (bytes > most) most = bytes;
    }
    return round_up(most, 4096); // no page for two threads
}

uint64_t cpu_buffer_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s) {
    struct act_table t = {0};
    uint64_t bytes = 0;
    for (int32_t i = 0; i < p->n_ropes; i++) bytes += s->n_batch * (uint64_t)p->ropes[i].n_rot * sizeof(float);
    find_acts(b->k, p, &t);
    for (int32_t i = 0; i < p->n_buffers; i++)
        bytes += (uint64_t)buffer_rows(p, s, i) * round_up(p->width[i], PANEL_ROWS) * sizeof(float);
    for (int32_t i = 0; i < t.n; i++)
        bytes += (uint64_t)buffer_rows(p, s, t.row[i].src) * act_row_stride(t.row[i].format, t.row[i].k);
    const int n_threads = pool_n_threads(b->threads);
    return bytes + cpu_scratch_bytes(b, p) * (uint64_t)n_threads + attend_plan_bytes(p, s, n_threads);
}

static rn_status take_buffers(struct cpu_backend *b, const struct act_table *t, rn_error *err) {
    for (int32_t i = 0; i < b->p->n_buffers; i++) {
        b->stride[i] = round_up(b->p->width[i], PANEL_ROWS);
        if (b->stride[i] == 0) continue;
        b->buffers[i] = mem_pages(buffer_rows(b->p, &b->sizes, i) * b->stride[i] * sizeof(float));
        if (!b->buffers[i]) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for row buffer %d", i);
    }
    b->n_acts = (size_t)t->n;
    for (int32_t i = 0; i < t->n; i++) {
        b->act_stride[i] = act_row_stride(t->row[i].format, t->row[i].k);
        b->act_rows[i] = buffer_rows(b->p, &b->sizes, t->row[i].src);
        b->acts[i] = mem_pages(b->act_rows[i] * b->act_stride[i]);
        if (!b->acts[i]) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for activation buffer %d", i);
    }
    return RN_OK;
}

// Which activation buffers hold what their source holds now.
static void mark_stale(const struct act_table *t, bool *fresh, int8_t written) {
    for (int32_t i = 0; i < t->n; i++)
        if (t->row[i].src == written) fresh[i] = false;
}

static void push(struct cpu_backend *b, const struct cpu_op *o) {
    struct cpu_op *dst = &b->ops[b->n_ops];
    *dst = *o;
    dst->claimed = o->split == SPLIT_CLAIM ? &b->claims[b->n_ops * CLAIM_STRIDE] : NULL;
    b->n_ops++;
}

static rn_status make_ops(struct cpu_backend *b, struct act_table *t, rn_error *err) {
    const struct program *p = b->p;
    bool fresh[CPU_MAX_ACTS] = {0};
    b->ops = mem_calloc(2 * p->n_ops, sizeof *b->ops);
    b->claims = mem_aligned(2 * p->n_ops * CLAIM_STRIDE * sizeof *b->claims);
    if (!b->ops || !b->claims) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu ops", p->n_ops);
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        const enum act_format f = format_of(b->k, p, o);
        int32_t act = -1;
        if (f != ACT_F32) {
            act = act_find(t, o->src, f, p->matrices[o->matrix].k);
            if (!fresh[act])
                push(b, &(struct cpu_op){.op = {.kind = OP_N_KINDS,
                                                .src = o->src,
                                                .src2 = -1,
                                                .dst = -1,
                                                .matrix = o->matrix,
                                                .layer = o->layer,
                                                .wanted_rows = o->wanted_rows},
                                         .prepare = true,
                                         .format = f,
                                         .act = act,
                                         .split = SPLIT_ROWS});
            fresh[act] = true;
        }
        push(b, &(struct cpu_op){.op = *o, .format = f, .act = act, .split = split_of(o->kind)});
        if (o->dst >= 0) mark_stale(t, fresh, o->dst);
    }
    return RN_OK;
}

// What an op touches, as bits.
struct touched {
    uint64_t buffers, acts; // row buffers, the highest bit the pages; activation buffers
};
#define PAGES_BIT ((uint64_t)1 << 63)
static uint64_t bit(int32_t i) { return i >= 0 ? (uint64_t)1 << i : 0; }
static bool meet(struct touched a, struct touched b) { return (a.buffers & b.buffers) || (a.acts & b.acts); }
static struct touched both(struct touched a, struct touched b) {
    return (struct touched){a.buffers | b.buffers, a.acts | b.acts};
}

static void touches(const struct cpu_op *o, struct touched *reads, struct touched *writes) {
    static const bool in_place[OP_N_KINDS + 1] = {[OP_EMBED_POS] = true, [OP_ROPE] = true,    [OP_ADD] = true,
                                                  [OP_SCALE] = true,     [OP_SOFTCAP] = true, [OP_TEMPERATURE] = true,
                                                  [OP_COPY] = true};
    const bool by_act = o->act >= 0 && !o->prepare;
    *reads = (struct touched){by_act ? 0 : bit(o->op.src), by_act ? bit(o->act) : 0};
    *writes = (struct touched){bit(o->op.dst), o->prepare ? bit(o->act) : 0};
    reads->buffers |= bit(o->op.src2);
    if (in_place[o->op.kind]) reads->buffers |= bit(o->op.dst);
    if (o->op.kind == OP_EMBED_POS) writes->buffers |= bit(o->op.src); // where it unpacks the position's row
    if (o->op.kind == OP_ATTEND) reads->buffers |= PAGES_BIT;
    if (o->op.kind == OP_STORE_KV) writes->buffers |= PAGES_BIT;
}

// A barrier is needed before an op that reads or writes what another thread may have written (or still reads) since the last one.
// Between two SPLIT_ROWS ops over the same rows every thread meets only its own rows.
static void place_barriers(struct cpu_backend *b) {
    static const struct touched none;
    struct touched read_rows = none, write_rows = none, read_claim = none, write_claim = none; // since the last barrier
    bool wanted = false;
    for (size_t i = 0; i < b->n_ops; i++) {
        struct cpu_op *o = &b->ops[i];
        const bool claims = o->split == SPLIT_CLAIM;
        struct touched r, w;
        touches(o, &r, &w);
        const struct touched others_wrote = both(write_claim, claims ? write_rows : none);
        const struct touched others_read = both(read_claim, claims ? read_rows : none);
        o->barrier = meet(r, others_wrote) || meet(w, both(others_wrote, others_read)) || o->op.wanted_rows != wanted;
        wanted = o->op.wanted_rows;
        if (o->barrier) read_rows = write_rows = read_claim = write_claim = none;
        struct touched *const reads = claims ? &read_claim : &read_rows, *writes = claims ? &write_claim : &write_rows;
        *reads = both(*reads, r), *writes = both(*writes, w);
    }
}

rn_status cpu_lower(struct cpu_backend *b, rn_error *err) {
    struct act_table t = {0};
    if (!find_acts(b->k, b->p, &t))
        return fail(err, RN_E_LIMIT, "backend cpu: the program needs more than %d activation buffers", CPU_MAX_ACTS);
    rn_status st = take_buffers(b, &t, err);
    if (st == RN_OK) st = make_ops(b, &t, err);
    if (st == RN_OK) place_barriers(b);
    return st;
}

static size_t buffer_bytes(const struct cpu_backend *b, int32_t i) {
    return buffer_rows(b->p, &b->sizes, i) * b->stride[i] * sizeof(float);
}

uint64_t cpu_buffers_resident(const struct cpu_backend *b) {
    uint64_t n = 0;
    for (int32_t i = 0; i < b->p->n_buffers; i++) n += mem_resident(b->buffers[i], buffer_bytes(b, i));
    for (size_t i = 0; i < b->n_acts; i++) n += mem_resident(b->acts[i], b->act_rows[i] * b->act_stride[i]);
    return n;
}

void cpu_lower_free(struct cpu_backend *b) {
    for (int32_t i = 0; b->p && i < b->p->n_buffers; i++)
        if (b->buffers[i]) mem_pages_free(b->buffers[i], buffer_bytes(b, i));
    for (size_t i = 0; i < b->n_acts; i++)
        if (b->acts[i]) mem_pages_free(b->acts[i], b->act_rows[i] * b->act_stride[i]);
    mem_free(b->ops);
    mem_free(b->claims);
}
