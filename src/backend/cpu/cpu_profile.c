// backend/cpu/cpu_profile.c - time of each op on thread 0, its bytes and products computed from shapes, and each thread's events.
#include "backend/cpu/cpu_profile.h"
#include "backend/cpu/cpu_attend.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/mem.h"
#include <string.h>

// Events of one thread, on a cache line of its own.
struct event_list {
    _Alignas(64) struct backend_event *events; // [room]
    size_t n;
    uint64_t n_dropped;
    int64_t part_begin, part_ns[CPU_MOST_TOGETHER]; // of the joined ops that run now
};

struct cpu_profile {
    size_t n_threads, room; // events of each thread
    struct backend_op_use *ops;
    struct backend_event *events; // of all threads
    struct event_list *lists;     // [n_threads]
    struct backend_profile totals;
    int64_t step_begin, last_end; // of the current step; last_end: end of thread 0's last op
    struct backend_op_use *last;  // that op; NULL: none yet
};

static void destroy(struct cpu_profile *p) {
    if (!p) return;
    mem_free(p->ops);
    mem_free(p->events);
    mem_free(p->lists);
    mem_free(p);
}

void cpu_profile_free(struct cpu_backend *b) {
    destroy(b->profile);
    destroy(b->profiled);
    b->profile = b->profiled = NULL;
}

static void name_ops(const struct cpu_backend *b, struct backend_op_use *ops) {
    for (size_t i = 0; i < b->n_ops; i++) {
        const struct cpu_op *o = &b->ops[i];
        ops[i] = (struct backend_op_use){
            .kind = o->prepare ? "prepare" : op_kind_name(o->op.kind),
            .matrix = o->op.weights.matrix >= 0 && !o->prepare ? b->p->matrices[o->op.weights.matrix].name : NULL,
            .layer = o->op.layer,
            .is_int8 = op_multiplies(o->op.kind) && (o->format == ACT_Q8_32 || o->format == ACT_Q8_256),
        };
    }
}

rn_status cpu_profile_begin(struct cpu_backend *b, size_t n_events, rn_error *err) {
    const size_t n_threads = (size_t)pool_n_threads(b->threads);
    cpu_profile_free(b);
    struct cpu_profile *p = mem_calloc(1, sizeof *p);
    if (p) {
        p->n_threads = n_threads;
        p->room = n_events / n_threads;
        p->ops = mem_calloc(b->n_ops, sizeof *p->ops);
        p->events = mem_calloc(p->room * n_threads, sizeof *p->events);
        p->lists = mem_aligned(n_threads * sizeof *p->lists);
    }
    if (!p || !p->ops || !p->events || !p->lists) {
        destroy(p);
        return fail(err, RN_E_NOMEM, "profile: out of memory for %zu ops and %zu events", b->n_ops, n_events);
    }
    for (size_t i = 0; i < n_threads; i++) p->lists[i] = (struct event_list){.events = p->events + i * p->room};
    name_ops(b, p->ops);
    b->profile = p;
    return RN_OK;
}

const struct backend_profile *cpu_profile_end(struct cpu_backend *b) {
    struct cpu_profile *p = b->profile;
    if (!p) return NULL;
    struct backend_profile *const t = &p->totals;
    t->ops = p->ops, t->n_ops = b->n_ops;
    t->events = p->events;
    for (size_t i = 0; i < p->n_threads; i++) { // closes the gaps between the threads' lists
        const struct event_list *l = &p->lists[i];
        memmove(p->events + t->n_events, l->events, l->n * sizeof *l->events);
        t->n_events += l->n;
        t->n_dropped += l->n_dropped;
    }
    b->profiled = p;
    b->profile = NULL;
    return t;
}

void cpu_profile_step_begin(struct cpu_backend *b) {
    b->profile->step_begin = clock_now_ns();
    b->profile->last = NULL;
}

static void add_event(const struct cpu_profile *p, int32_t op, int i_thread, int64_t begin_ns, int64_t ns) {
    struct event_list *const l = &p->lists[i_thread];
    if (l->n == p->room) {
        l->n_dropped++;
        return;
    }
    l->events[l->n++] = (struct backend_event){op, i_thread, p->totals.n_steps, begin_ns, ns};
}

void cpu_profile_begin_ops(const struct op_run *x) {
    struct event_list *const l = &x->b->profile->lists[x->i_thread];
    l->part_begin = clock_now_ns();
    memset(l->part_ns, 0, sizeof l->part_ns);
}

void cpu_profile_add_part(const struct op_run *x, size_t i) {
    struct event_list *const l = &x->b->profile->lists[x->i_thread];
    const int64_t now = clock_now_ns();
    l->part_ns[i] += now - l->part_begin;
    l->part_begin = now;
}

static void end_op(struct cpu_profile *p, ptrdiff_t op, int i_thread, int64_t begin_ns, int64_t ns) {
    add_event(p, (int32_t)op, i_thread, begin_ns, ns);
    if (i_thread != 0) return;
    if (p->last) p->last->wait_ns += (uint64_t)(begin_ns - p->last_end);
    p->last = &p->ops[op];
    p->last->ns += (uint64_t)ns;
    p->last->calls++;
    p->last_end = begin_ns + ns;
}

void cpu_profile_end_ops(const struct op_run *x) {
    struct cpu_profile *const p = x->b->profile;
    const struct event_list *l = &p->lists[x->i_thread];
    const size_t n = run_schedule(x)->n_together;
    cpu_profile_add_part(x, n - 1);
    int64_t begin = l->part_begin;
    for (size_t i = 0; i < n; i++) begin -= l->part_ns[i];
    for (size_t i = 0; i < n; begin += l->part_ns[i], i++)
        end_op(p, x->o + i - x->b->ops, x->i_thread, begin, l->part_ns[i]);
}

// For one kind of attention: blocks of keys and values that the step reads, for each key head, and pairs of a row and a key.
struct attended {
    uint64_t n_blocks, n_pairs;
};
static struct attended count_attention(const struct cpu_backend *b, const struct attend_plan *plan) {
    struct attended n = {0};
    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct attend_task *t = &plan->tasks[i];
        n.n_blocks += (uint64_t)((t->end - 1) / KV_BLOCK - t->begin / KV_BLOCK + 1);
    }
    for (size_t r = 0; r < b->batch->n_rows; r++) {
        const struct batch_row *const row = &b->batch->rows[r];
        n.n_pairs += (uint64_t)(row->pos - attend_first(plan->kind, row) + 1);
    }
    return n;
}

static uint64_t pair_bytes(const struct cpu_backend *b, const struct cpu_op *o) {
    const int32_t group = b->p->attention[o->op.layer].group;
    return (uint64_t)b->p->groups[group].n_head_kv * (b->groups[group].key_bytes + b->groups[group].value_bytes);
}

static void count_product(const struct cpu_matrix *cm, struct backend_op_use *use, uint64_t n_slices,
                          uint64_t n_rows) {
    const struct matrix *m = cm->m;
    const uint64_t slice = cm->panels ? ceil_div(m->n_out, PANEL_ROWS) * cm->panel_bytes : m->n_out * m->row_bytes;
    use->bytes += n_slices * slice;
    use->products += (uint64_t)m->k * m->n_out * n_rows;
}

void cpu_profile_count(const struct op_run *x, size_t n_slices, size_t n_rows) {
    const struct cpu_backend *b = x->b;
    count_product(&b->matrices[x->o->op.weights.matrix], &b->profile->ops[x->o - b->ops], n_slices, n_rows);
}

// What an op touched in the step, computed from shapes. attended: for each kind of attention.
static void count_work(const struct cpu_backend *b, const struct cpu_op *o, struct backend_op_use *use,
                       const struct attended *attended) {
    const uint64_t n_rows = cpu_op_rows(b, o);
    if (o->prepare || n_rows == 0) return;
    if (o->op.kind == OP_LINEAR) {
        const struct cpu_matrix *cm = &b->matrices[o->op.weights.matrix];
        count_product(cm, use, cm->m->n_slices, n_rows * cm->m->n_slices);
    } else if (o->op.kind == OP_EMBED || o->op.kind == OP_EMBED_POS) {
        use->bytes += n_rows * b->p->matrices[o->op.weights.matrix].row_bytes;
    } else if (o->op.kind == OP_STORE_KV) {
        use->bytes += n_rows * (pair_bytes(b, o) / KV_BLOCK);
    } else if (o->op.kind == OP_ATTEND) {
        const int8_t kind = b->p->attention[o->op.layer].kind;
        const struct attend_kind *k = &b->p->kinds[kind];
        use->bytes += attended[kind].n_blocks * pair_bytes(b, o);
        use->products += attended[kind].n_pairs * (uint64_t)k->n_head * (uint64_t)(k->head_dim + k->v_dim);
    }
}

void cpu_profile_step_end(struct cpu_backend *b) {
    struct cpu_profile *const p = b->profile;
    const int64_t now = clock_now_ns();
    struct attended attended[PROGRAM_MAX_KINDS];
    if (p->last) p->last->wait_ns += (uint64_t)(now - p->last_end);
    p->totals.ns += (uint64_t)(now - p->step_begin);
    p->totals.n_steps++;
    p->totals.n_rows += b->batch->n_rows;
    for (int32_t k = 0; k < b->p->n_kinds; k++) attended[k] = count_attention(b, &b->attend[k]);
    for (size_t i = 0; i < b->n_ops; i++) count_work(b, &b->ops[i], &p->ops[i], attended);
}
