// backend/cpu/cpu_lower.c - lowers a program to the CPU's ops: activations are prepared once for all matrices that read them, and
// buffers are allocated. How work is divided among threads: cpu_schedule.c.
#include "backend/cpu/cpu_adapters.h"
#include "backend/cpu/cpu_experts.h"
#include "backend/cpu/cpu_product.h"
#include "base/checked.h"
#include "base/mem.h"
#include "base/process_memory.h"

#define CLAIM_STRIDE (64 / sizeof(atomic_size_t)) // a cache line each: threads contend for them

// Adds the row if it is not there; -1: the table is full.
static int32_t act_find(struct act_table *t, int8_t src, enum act_format format, size_t k, size_t n_part) {
    for (int32_t i = 0; i < t->n; i++)
        if (t->row[i].src == src && t->row[i].format == format && t->row[i].k == k && t->row[i].n_part == n_part)
            return i;
    if (t->n == CPU_MAX_ACTS) return -1;
    t->row[t->n].src = src;
    t->row[t->n].format = format;
    t->row[t->n].k = k;
    t->row[t->n].n_part = n_part;
    return t->n++;
}

static enum act_format format_of(const struct kernel_set *k, const struct program *p, const struct op *o) {
    return op_multiplies(o->kind) ? k->matmul[p->matrices[o->weights.matrix].type].act : ACT_F32;
}

// Number of heads or parts of an op's source, each of which is prepared for itself.
static size_t src_parts(const struct op *o) {
    return o->linear.by_head || o->experts.reads_parts ? (size_t)o->heads.n : 1;
}

static bool find_acts(const struct kernel_set *k, const struct program *p, struct act_table *t) {
    for (size_t i = 0; i < p->n_ops; i++) {
        const enum act_format f = format_of(k, p, &p->ops[i]);
        const struct op *o = &p->ops[i];
        if (f != ACT_F32 && act_find(t, o->src, f, p->matrices[o->weights.matrix].k, src_parts(o)) < 0) return false;
    }
    return true;
}

// Bytes of a prepared row with all its parts.
static size_t act_stride_of(const struct act_table *t, int32_t i) {
    return t->row[i].n_part * act_row_stride(t->row[i].format, t->row[i].k);
}

static size_t buffer_rows(const struct program *p, const struct backend_sizes *s, int32_t buffer) {
    if (p->rows[buffer] == ROWS_LOGITS && s->n_logits) return s->n_logits;
    return p->rows[buffer] == ROWS_ALL ? s->n_batch : s->n_wanted;
}

static size_t op_scratch(const struct cpu_backend *b, const struct program *p, const struct op *o, size_t n_batch) {
    switch (o->kind) {
    case OP_LINEAR: return cpu_product_scratch(b, &p->matrices[o->weights.matrix]);
    case OP_ROUTE: return cpu_route_scratch(p);
    case OP_SPREAD:
    case OP_EXPERTS:
    case OP_EXPERTS_SUM: return cpu_experts_scratch(b, p, o, n_batch);
    default: return 0;
    }
}

size_t cpu_scratch_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s) {
    size_t most = attend_scratch_bytes(b, p, s);
    if (recur_scratch_bytes(p) > most) most = recur_scratch_bytes(p);
    for (size_t i = 0; i < p->n_ops; i++) {
        const size_t bytes = op_scratch(b, p, &p->ops[i], s->n_batch);
        if (bytes > most) most = bytes;
    }
    return round_up(most, 4096); // threads do not share a page of memory
}

uint64_t cpu_buffer_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s) {
    struct act_table t = {0};
    uint64_t bytes = 0;
    for (int32_t i = 0; i < p->n_ropes; i++) bytes += s->n_batch * (uint64_t)p->ropes[i].n_rot * sizeof(float);
    find_acts(b->k, p, &t);
    for (int32_t i = 0; i < p->n_buffers; i++)
        bytes += (uint64_t)buffer_rows(p, s, i) * round_up(p->width[i], PANEL_ROWS) * sizeof(float);
    for (int32_t i = 0; i < t.n; i++) bytes += (uint64_t)buffer_rows(p, s, t.row[i].src) * act_stride_of(&t, i);
    const int n_threads = pool_n_threads(b->threads);
    const struct own_copies copies = cpu_own_copies(p, s, n_threads, &t);
    bytes += (uint64_t)n_threads * copies.bytes + cpu_adapters_room_bytes(b, p, s, copies.n_rows);
    return bytes + cpu_scratch_bytes(b, p, s) * (uint64_t)n_threads + attend_plan_bytes(p, s, n_threads);
}

static rn_status take_buffers(struct cpu_backend *b, const struct act_table *t, rn_error *err) {
    for (int32_t i = 0; i < b->p->n_buffers; i++) {
        b->stride[i] = round_up(b->p->width[i], PANEL_ROWS);
        if (b->stride[i] == 0) continue; // unused
        b->buffers[i] = mem_pages(buffer_rows(b->p, &b->sizes, i) * b->stride[i] * sizeof(float));
        if (!b->buffers[i]) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for row buffer %d", i);
    }
    b->n_acts = (size_t)t->n;
    for (int32_t i = 0; i < t->n; i++) {
        b->act_stride[i] = act_stride_of(t, i);
        b->act_rows[i] = buffer_rows(b->p, &b->sizes, t->row[i].src);
        b->acts[i] = mem_pages(b->act_rows[i] * b->act_stride[i]);
        if (!b->acts[i]) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for activation buffer %d", i);
    }
    const int n_threads = pool_n_threads(b->threads);
    b->copies = cpu_own_copies(b->p, &b->sizes, n_threads, t);
    if (b->copies.n_rows && !(b->own = mem_pages((size_t)n_threads * b->copies.bytes)))
        return fail(err, RN_E_NOMEM, "backend cpu: out of memory for copies of %zu rows", b->copies.n_rows);
    return RN_OK;
}

// Activation buffers that are up to date with their source.
static void mark_stale(const struct act_table *t, bool *fresh, int8_t written) {
    for (int32_t i = 0; i < t->n; i++)
        if (t->row[i].src == written) fresh[i] = false;
}

static void push(struct cpu_backend *b, const struct cpu_op *o) {
    struct cpu_op *dst = &b->ops[b->n_ops];
    *dst = *o;
    dst->claimed = &b->claims[b->n_ops * CLAIM_STRIDE];
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
            const size_t n_part = src_parts(o);
            act = act_find(t, o->src, f, p->matrices[o->weights.matrix].k, n_part);
            if (!fresh[act])
                push(b, &(struct cpu_op){.op = {.kind = OP_N_KINDS,
                                                .src = o->src,
                                                .src2 = -1,
                                                .dst = -1,
                                                .weights.matrix = o->weights.matrix,
                                                .layer = o->layer,
                                                .heads = {.n = (int32_t)n_part, .src = o->heads.src},
                                                .rows = p->rows[o->src]},
                                         .prepare = true,
                                         .format = f,
                                         .act = act});
            fresh[act] = true;
        }
        push(b, &(struct cpu_op){
                    .op = *o, .format = f, .act = act, .adapters = b->adapters_of ? b->adapters_of[i] : NULL});
        if (o->dst >= 0) mark_stale(t, fresh, o->dst);
        if (o->rows == ROWS_ALL) b->first_result = b->n_ops;
    }
    return RN_OK;
}

rn_status cpu_lower(struct cpu_backend *b, rn_error *err) {
    struct act_table t = {0};
    if (!find_acts(b->k, b->p, &t))
        return fail(err, RN_E_LIMIT, "backend cpu: the program needs more than %d activation buffers", CPU_MAX_ACTS);
    rn_status st = take_buffers(b, &t, err);
    if (st == RN_OK) st = cpu_adapters_take_room(b, err);
    if (st == RN_OK) st = make_ops(b, &t, err);
    if (st == RN_OK) cpu_schedules_plan(b);
    return st;
}

static size_t buffer_bytes(const struct cpu_backend *b, int32_t i) {
    return buffer_rows(b->p, &b->sizes, i) * b->stride[i] * sizeof(float);
}

static size_t own_bytes(const struct cpu_backend *b) { return (size_t)pool_n_threads(b->threads) * b->copies.bytes; }

uint64_t cpu_buffers_resident(const struct cpu_backend *b) {
    uint64_t n = 0;
    for (int32_t i = 0; i < b->p->n_buffers; i++) n += mem_resident(b->buffers[i], buffer_bytes(b, i));
    for (size_t i = 0; i < b->n_acts; i++) n += mem_resident(b->acts[i], b->act_rows[i] * b->act_stride[i]);
    return n + mem_resident(b->own, own_bytes(b)) + cpu_adapters_room_resident(b);
}

void cpu_lower_free(struct cpu_backend *b) {
    for (int32_t i = 0; b->p && i < b->p->n_buffers; i++)
        if (b->buffers[i]) mem_pages_free(b->buffers[i], buffer_bytes(b, i));
    for (size_t i = 0; i < b->n_acts; i++)
        if (b->acts[i]) mem_pages_free(b->acts[i], b->act_rows[i] * b->act_stride[i]);
    if (b->own) mem_pages_free(b->own, own_bytes(b));
    mem_free(b->ops);
    mem_free(b->claims);
}
