// backend/cpu/cpu_profile.c - time by op record, as thread 0 sees it, bytes and products by arithmetic, and each thread's events.
#include "backend/cpu/cpu_profile.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/mem.h"
#include <string.h>

// Events of one thread, on a cache line of its own.
struct event_list {
    _Alignas(64) struct backend_event *events; // [room]
    size_t n;
    uint64_t n_dropped;
    int64_t part_begin, part_ns[CPU_MOST_TOGETHER]; // of the ops that go together now
};

struct cpu_profile {
    size_t n_threads, room; // events of a thread
    struct backend_op_use *ops;
    struct backend_event *events; // of all threads
    struct event_list *lists;     // [n_threads]
    struct backend_profile totals;
    int64_t step_begin, last_end; // of the running step; last_end: of thread 0's last op
    struct backend_op_use *last;  // that op, NULL: none yet
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
            .matrix = o->op.matrix >= 0 && !o->prepare ? b->p->matrices[o->op.matrix].name : NULL,
            .layer = o->op.layer,
            .is_int8 = o->op.kind == OP_LINEAR && (o->format == ACT_Q8_32 || o->format == ACT_Q8_256),
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
    const size_t n = run_way(x)->n_together;
    cpu_profile_add_part(x, n - 1);
    int64_t begin = l->part_begin;
    for (size_t i = 0; i < n; i++) begin -= l->part_ns[i];
    for (size_t i = 0; i < n; begin += l->part_ns[i], i++)
        end_op(p, x->o + i - x->b->ops, x->i_thread, begin, l->part_ns[i]);
}

// Blocks of keys and values that the step's attention goes through, for each key head; and pairs of a query's row and a key.
static void count_attention(const struct cpu_backend *b, uint64_t *n_blocks, uint64_t *n_pairs) {
    *n_blocks = *n_pairs = 0;
    for (size_t t = 0; t < b->attend.n_tasks; t++) {
        const struct attend_task *task = &b->attend.tasks[t];
        *n_blocks += (uint64_t)b->batch->rows[task->first + task->n - 1].pos / KV_BLOCK + 1;
    }
    for (size_t r = 0; r < b->batch->n_rows; r++) *n_pairs += (uint64_t)b->batch->rows[r].pos + 1;
}

// What an op of a step touched, from the shapes alone.
static void count_work(const struct cpu_backend *b, const struct cpu_op *o, struct backend_op_use *use,
                       uint64_t n_blocks, uint64_t n_pairs) {
    const uint64_t n_rows = o->op.wanted_rows ? b->batch->n_wanted : b->batch->n_rows;
    const uint64_t n_head = (uint64_t)b->p->n_head, n_head_kv = (uint64_t)b->p->n_head_kv;
    const uint64_t head_dim = (uint64_t)b->p->head_dim;
    if (o->prepare) return;
    if (o->op.kind == OP_LINEAR) {
        const struct cpu_matrix *cm = &b->matrices[o->op.matrix];
        use->bytes +=
            cm->panels ? ceil_div(cm->m->n_out, PANEL_ROWS) * cm->panel_bytes : cm->m->n_out * cm->m->row_bytes;
        use->products += (uint64_t)cm->m->k * cm->m->n_out * n_rows;
    } else if (o->op.kind == OP_EMBED) {
        use->bytes += n_rows * b->p->matrices[o->op.matrix].row_bytes;
    } else if (o->op.kind == OP_STORE_KV) {
        use->bytes += n_rows * n_head_kv * ((b->key_bytes + b->value_bytes) / KV_BLOCK);
    } else if (o->op.kind == OP_ATTEND) {
        use->bytes += n_blocks * n_head_kv * (b->key_bytes + b->value_bytes);
        use->products += 2 * n_pairs * n_head * head_dim;
    }
}

void cpu_profile_step_end(struct cpu_backend *b) {
    struct cpu_profile *const p = b->profile;
    const int64_t now = clock_now_ns();
    uint64_t n_blocks, n_pairs;
    if (p->last) p->last->wait_ns += (uint64_t)(now - p->last_end);
    p->totals.ns += (uint64_t)(now - p->step_begin);
    p->totals.n_steps++;
    p->totals.n_rows += b->batch->n_rows;
    count_attention(b, &n_blocks, &n_pairs);
    for (size_t i = 0; i < b->n_ops; i++)
        if (!b->ops[i].op.wanted_rows || b->batch->n_wanted) count_work(b, &b->ops[i], &p->ops[i], n_blocks, n_pairs);
}
