// backend/cpu/cpu_backend.c - the functions of the backend: plan, load, run.
#include "backend/cpu/cpu_adapters.h"
#include "backend/cpu/cpu_profile.h"
#include "base/checked.h"
#include "base/mem.h"
#include "base/process_memory.h"

static struct cpu_backend *self(backend *b) { return (struct cpu_backend *)b; }

// All ops; the types that the kernel set multiplies with, and those whose rows can be dequantized.
static rn_status supports(const backend *base, const struct program *p, rn_error *err) {
    const struct cpu_backend *b = (const struct cpu_backend *)base;
    struct backend_support s;
    for (int i = 0; i < OP_N_KINDS; i++) s.ops[i] = true;
    for (int i = 0; i < TENSOR_N_TYPES; i++) {
        s.multiplies[i] = b->k->matmul[i].matmul != NULL;
        s.looks_up[i] = tensor_type_info((enum tensor_type)i)->dequantize_row != NULL;
    }
    for (int32_t i = 0; i < p->n_kinds; i++) {
        const int32_t heads = p->kinds[i].n_head / p->kinds[i].n_head_kv;
        if (heads > ATTEND_MAX_QUERIES)
            return fail(err, RN_E_UNSUPPORTED, "backend cpu: attention: %d query heads share a key head, limit %d",
                        heads, ATTEND_MAX_QUERIES);
    }
    return backend_check_support("cpu", &s, p, err);
}

static rn_status plan(const backend *base, const struct program *p, const struct backend_sizes *s,
                      struct backend_plan *out, rn_error *err) {
    (void)err;
    const struct cpu_backend *b = (const struct cpu_backend *)base;
    *out = (struct backend_plan){.n_memories = 1, .memory[0].name = "host"};
    struct backend_memory *host = &out->memory[0];
    cpu_weights_plan(b, p, host);
    host->adapter_bytes = cpu_adapters_bytes(b, p);
    host->buffer_bytes = cpu_buffer_bytes(b, p, s);
    for (int32_t g = 0; g < p->n_groups; g++) host->page_bytes[g] = cpu_page_bytes(b, p, g, s->codec[g]);
    host->state_bytes = cpu_state_bytes(p);
    return RN_OK;
}

static rn_status load(backend *base, const struct program *p, const struct backend_sizes *s,
                      backend_progress progress, void *user, rn_error *err) {
    struct cpu_backend *b = self(base);
    rn_status st = supports(base, p, err);
    if (st != RN_OK) return st;
    b->p = p;
    b->sizes = *s;
    st = cpu_weights_load(b, progress, user, err);
    if (st == RN_OK) st = cpu_adapters_load(b, err);
    if (st == RN_OK) st = cpu_pages_load(b, err);
    if (st == RN_OK) st = cpu_states_load(b, err);
    if (st == RN_OK) st = cpu_lower(b, err);
    if (st != RN_OK) return st;
    const size_t n_threads = (size_t)pool_n_threads(b->threads);
    b->thread_scratch_bytes = cpu_scratch_bytes(b, p, s);
    b->thread_scratch = mem_pages(b->thread_scratch_bytes * n_threads);
    bool has_all = b->thread_scratch != NULL;
    for (int32_t i = 0; i < p->n_ropes; i++) {
        b->cos_sin[i] = mem_aligned(s->n_batch * (size_t)p->ropes[i].n_rot * sizeof(float));
        has_all = has_all && b->cos_sin[i];
    }
    if (!has_all) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for buffers of %zu rows", s->n_batch);
    return attend_plan_load(b, err);
}

// Cosines and sines of each row's position, once for all layers: angles in double from the float frequencies, so that far positions
// lose no precision; rounded to float at the end.
static void fill_cos_sin(const struct cpu_backend *b, int32_t table, int i_thread, int n_threads) {
    const struct rope_table *t = &b->p->ropes[table];
    const size_t n_pair = (size_t)t->n_rot / 2;
    const double magnitude = (double)t->magnitude;
    size_t begin, end;
    pool_share(b->batch->n_rows, 1, i_thread, n_threads, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        const struct batch_row *row = &b->batch->rows[r];
        const float *freq = t->inv_freq_far && b->batch->seqs[row->seq].is_far ? t->inv_freq_far : t->inv_freq;
        float *cs = b->cos_sin[table] + r * 2 * n_pair;
        for (size_t i = 0; i < n_pair; i++) {
            double s, c;
            const int32_t at = t->coord && t->coord[i] ? row->coord[t->coord[i] - 1] : row->pos;
            sincos_f64((double)at * (double)freq[i], &s, &c);
            cs[2 * i] = (float)(c * magnitude);
            cs[2 * i + 1] = (float)(s * magnitude);
        }
    }
}

// The barriers of the schedule do not cover the collector, which reads the op's source: all threads wait before it and after it.
static void collect_inputs(const struct op_run *x) {
    pool_barrier(x->b->threads, x->i_thread);
    for (size_t i = 0; x->i_thread == 0 && i < run_schedule(x)->n_together; i++) {
        const struct op_run member = run_member(x, i);
        if (op_multiplies(member.o->op.kind)) cpu_op_collect(&member);
    }
    pool_barrier(x->b->threads, x->i_thread);
}

static void run_thread(void *ctx, int i_thread, int n_threads) {
    struct cpu_backend *b = ctx;
    for (int32_t i = 0; i < b->p->n_ropes; i++) fill_cos_sin(b, i, i_thread, n_threads);
    for (const struct cpu_op *o = b->ops; o < b->ops + b->n_ops; o += o->schedules[b->schedule].n_together) {
        const struct op_run x = {b, o, i_thread, n_threads, cpu_op_rows(b, o)};
        if (x.n_rows == 0 && o >= b->ops + b->first_result) return; // nor has any op after it
        if (b->collect && op_multiplies(o->op.kind))
            collect_inputs(&x);
        else if (run_schedule(&x)->barrier)
            pool_barrier(b->threads, i_thread);
        if (b->profile) cpu_profile_begin_ops(&x);
        cpu_op_run(&x);
        if (b->profile) cpu_profile_end_ops(&x);
    }
}

static rn_status run(backend *base, const struct batch *batch, rn_error *err) {
    struct cpu_backend *b = self(base);
    (void)err;
    b->batch = batch;
    if (b->profile) cpu_profile_step_begin(b);
    attend_plan_step(b);
    cpu_adapters_step(b);
    b->schedule = cpu_schedule_of_step(b);
    for (size_t i = 0; i < b->n_ops; i++)
        if (b->ops[i].schedules[b->schedule].split == SPLIT_CLAIM)
            atomic_store_explicit(b->ops[i].claimed, 0, memory_order_relaxed);
    if (b->profile) { // always on all threads
        pool_run(b->threads, run_thread, b);
        cpu_profile_step_end(b);
    } else {
        pool_run_fitting(b->threads, run_thread, b);
    }
    b->batch = NULL;
    return RN_OK;
}

static void collect(backend *base, backend_collect_fn fn, void *user) {
    self(base)->collect = fn;
    self(base)->collect_user = user;
}

static rn_status profile_begin(backend *base, size_t n_events, rn_error *err) {
    return cpu_profile_begin(self(base), n_events, err);
}

static const struct backend_profile *profile_end(backend *base) { return cpu_profile_end(self(base)); }

// Results are in host memory already.
static rn_status fetch(backend *base, int32_t buffer, size_t n, struct backend_rows *out, rn_error *err) {
    const struct cpu_backend *b = self(base);
    (void)n, (void)err;
    *out = (struct backend_rows){b->buffers[buffer], b->stride[buffer]};
    return RN_OK;
}

static void use(const backend *base, struct backend_use *out) {
    const struct cpu_backend *b = (const struct cpu_backend *)base;
    *out = (struct backend_use){.repacked_bytes = b->weights_of ? 0 : mem_resident(b->panels, b->panels_bytes),
                                .adapter_bytes = cpu_adapters_resident(b),
                                .buffer_bytes = cpu_buffers_resident(b)};
    for (int32_t g = 0; g < PROGRAM_MAX_GROUPS; g++)
        out->page_bytes += mem_resident(b->groups[g].pages, b->groups[g].pool_bytes);
    out->page_bytes += mem_resident(b->states.pages, b->states.pool_bytes);
    out->buffer_bytes +=
        mem_resident(b->thread_scratch, b->thread_scratch_bytes * (size_t)pool_n_threads(b->threads));
}

// Pages are in host memory: these cannot fail.
static rn_status copy(backend *base, const struct kv_copy *c, rn_error *err) {
    (void)err;
    cpu_pages_copy(self(base), c);
    return RN_OK;
}
static size_t page_bytes(const backend *base, int32_t group) {
    const struct cpu_backend *b = (const struct cpu_backend *)base;
    return group == KV_STATE ? b->p->state_bytes : b->groups[group].page_bytes;
}
static rn_status read_page(backend *base, int32_t group, int32_t page, int32_t n, uint8_t *out, rn_error *err) {
    (void)err;
    cpu_page_read(self(base), group, page, n, out);
    return RN_OK;
}
static rn_status write_page(backend *base, int32_t group, int32_t page, const uint8_t *bytes, rn_error *err) {
    (void)err;
    cpu_page_write(self(base), group, page, bytes);
    return RN_OK;
}

static void destroy(backend *base) {
    struct cpu_backend *b = self(base);
    cpu_profile_free(b);
    cpu_lower_free(b);
    cpu_pages_free(b);
    cpu_states_free(b);
    cpu_weights_free(b);
    cpu_adapters_free(b);
    if (b->thread_scratch)
        mem_pages_free(b->thread_scratch, b->thread_scratch_bytes * (size_t)pool_n_threads(b->threads));
    for (int i = 0; i < PROGRAM_MAX_ROPES; i++) mem_free(b->cos_sin[i]);
    attend_plan_free(b);
    mem_free(b);
}

static const struct backend_ops cpu_ops = {
    .name = "cpu",
    .supports = supports,
    .plan = plan,
    .load = load,
    .copy = copy,
    .page_bytes = page_bytes,
    .read_page = read_page,
    .write_page = write_page,
    .run = run,
    .collect = collect,
    .profile_begin = profile_begin,
    .profile_end = profile_end,
    .use = use,
    .fetch = fetch,
    .destroy = destroy,
};

rn_status cpu_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    struct cpu_backend *b = mem_calloc(1, sizeof *b);
    *out = NULL;
    if (!b) return fail(err, RN_E_NOMEM, "backend cpu: out of memory");
    b->base = (backend){&cpu_ops, BACKEND_ARITHMETIC};
    b->k = spec->kernels;
    b->threads = spec->threads;
    b->keeps_rows = spec->keeps_rows;
    b->weights_of = (const struct cpu_backend *)spec->weights_of;
    b->part_of = (const struct cpu_backend *)spec->base;
    *out = &b->base;
    return RN_OK;
}
