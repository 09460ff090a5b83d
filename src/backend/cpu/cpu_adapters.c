// backend/cpu/cpu_adapters.c - see cpu_adapters.h.
#include "backend/cpu/cpu_adapters.h"
#include "base/checked.h"
#include "base/file_map.h"
#include "base/mem.h"
#include "base/process_memory.h"
#include <string.h>

enum {
    TILE_ROWS = 64, // rows and outputs whose products with B are computed before they are added
    TILE_PANELS = 16,
    EXPERT_ROWS = 16 // rows of an expert that are gathered at a time
};

// An adapter of an op. rank 0: it does not change the op.
struct cpu_adapter {
    size_t rank;
    float scale;
    size_t at, stride;    // of A x in a row: of its first slice, and from one slice to the next
    struct matrix am, bm; // of floats; am of OP_EMBED: as the file stores it
    struct cpu_matrix a, b;
};

// ---- memory ---------------------------------------------------------------------------------------------------------

static bool has_product(const struct op *o) { return op_multiplies(o->kind); }

// Bytes of a matrix in the layout of float products.
static size_t float_bytes(const struct cpu_backend *b, const struct matrix *m) {
    const struct matmul_ops *ops = &b->k->matmul[TENSOR_F32];
    const size_t slice =
        ops->pack ? ceil_div(m->n_out, PANEL_ROWS) * ops->panel_bytes(m->k) : m->n_out * m->k * sizeof(float);
    return round_up(m->n_slices * slice, 64);
}

uint64_t cpu_adapters_bytes(const struct cpu_backend *b, const struct program *p) {
    uint64_t bytes = 0;
    if (b->weights_of) return 0; // they are in that backend's plan
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        for (size_t k = 0; o->weights.adapters && k < p->n_adapters; k++) {
            const struct op_adapter *a = &o->weights.adapters[k];
            if (a->rank) bytes += (has_product(o) ? float_bytes(b, &a->a) : 0) + float_bytes(b, &a->b);
        }
    }
    return bytes;
}

// Floats that A x of a row takes in the widest op, and the widest row that it is computed from.
static size_t most_numbers(const struct program *p) {
    size_t most = 0;
    for (size_t i = 0; i < p->n_ops; i++)
        if (op_adapter_numbers(p, &p->ops[i]) > most) most = op_adapter_numbers(p, &p->ops[i]);
    return most;
}
static size_t widest_gathered(const struct program *p) {
    size_t most = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        if (o->weights.adapters && o->kind == OP_EXPERTS && p->matrices[o->weights.matrix].k > most)
            most = p->matrices[o->weights.matrix].k;
    }
    return most;
}
static size_t product_scratch(const struct cpu_backend *b, const struct program *p) {
    const struct matmul_ops *ops = &b->k->matmul[TENSOR_F32];
    size_t most = 0;
    for (size_t i = 0; ops->gemm && i < p->n_ops; i++)
        for (size_t k = 0; p->ops[i].weights.adapters && k < p->n_adapters; k++) {
            const struct op_adapter *a = &p->ops[i].weights.adapters[k];
            if (a->rank && ops->gemm_scratch(a->a.k) > most) most = ops->gemm_scratch(a->a.k);
            if (a->rank && ops->gemm_scratch(a->rank) > most) most = ops->gemm_scratch(a->rank);
        }
    return most;
}

// The room of a thread, part by part. A x of all rows is in `own` in steps of few rows, else in room that threads share.
static struct adapter_room room_of(const struct cpu_backend *b, const struct program *p,
                                   const struct backend_sizes *s, size_t n_own) {
    struct adapter_room r = {.stride = most_numbers(p), .n_own = n_own};
    if (r.stride == 0) return r;
    const size_t row = r.stride * sizeof(float);
    r.shared_bytes = 2 * s->n_batch * row;
    r.own_at = 64; // after the number of the turn
    r.tile_at = r.own_at + round_up(CPU_MOST_TOGETHER * n_own * row, 64);
    r.gathered_at = r.tile_at + TILE_ROWS * TILE_PANELS * PANEL_ROWS * sizeof(float);
    r.expert_at = r.gathered_at + round_up(EXPERT_ROWS * widest_gathered(p) * sizeof(float), 64);
    r.scratch_at = r.expert_at + round_up(EXPERT_ROWS * row, 64);
    r.thread_bytes = round_up(r.scratch_at + product_scratch(b, p), 4096); // threads do not share a page of memory
    return r;
}

uint64_t cpu_adapters_room_bytes(const struct cpu_backend *b, const struct program *p, const struct backend_sizes *s,
                                 size_t n_own) {
    const struct adapter_room r = room_of(b, p, s, n_own);
    return r.shared_bytes + (uint64_t)r.thread_bytes * (uint64_t)pool_n_threads(b->threads);
}

rn_status cpu_adapters_take_room(struct cpu_backend *b, rn_error *err) {
    struct adapter_room *const r = &b->adapter_room;
    *r = room_of(b, b->p, &b->sizes, b->copies.n_rows);
    if (r->stride == 0) return RN_OK;
    r->threads = mem_pages(r->thread_bytes * (size_t)pool_n_threads(b->threads));
    r->shared = mem_pages(r->shared_bytes);
    return r->threads && r->shared
               ? RN_OK
               : fail(err, RN_E_NOMEM, "backend cpu: out of memory for adapters' rows of %zu numbers", r->stride);
}

uint64_t cpu_adapters_resident(const struct cpu_backend *b) {
    return b->weights_of ? 0 : mem_resident(b->adapter_panels, b->adapter_panels_bytes);
}

uint64_t cpu_adapters_room_resident(const struct cpu_backend *b) {
    const struct adapter_room *const r = &b->adapter_room;
    return mem_resident(r->shared, r->shared_bytes) +
           mem_resident(r->threads, r->thread_bytes * (size_t)pool_n_threads(b->threads));
}

void cpu_adapters_free(struct cpu_backend *b) {
    struct adapter_room *const r = &b->adapter_room;
    if (r->threads) mem_pages_free(r->threads, r->thread_bytes * (size_t)pool_n_threads(b->threads));
    if (r->shared) mem_pages_free(r->shared, r->shared_bytes);
    if (b->weights_of) return;
    if (b->adapter_panels) mem_pages_free(b->adapter_panels, b->adapter_panels_bytes);
    mem_free(b->adapters);
    mem_free(b->adapters_of);
}

// ---- load -----------------------------------------------------------------------------------------------------------

// Rows of a slice as floats, in the layout of products. rows: room for 16 rows.
static void pack(const struct cpu_backend *b, const struct matrix *from, size_t slice, float *rows, uint8_t *to) {
    const struct matmul_ops *ops = &b->k->matmul[TENSOR_F32];
    const struct tensor_type_info *type = tensor_type_info(from->type);
    const uint8_t *data = from->data + slice * from->slice_bytes;
    for (size_t row = 0; row < from->n_out; row += PANEL_ROWS) {
        const size_t n = from->n_out - row < PANEL_ROWS ? from->n_out - row : PANEL_ROWS;
        for (size_t i = 0; i < n; i++)
            type->dequantize_row(data + (row + i) * from->row_bytes, rows + i * from->k, from->k);
        if (ops->pack) {
            ops->pack((const uint8_t *)rows, from->k * sizeof *rows, (int)n, from->k, to);
            to += ops->panel_bytes(from->k);
        } else {
            memcpy(to, rows, n * from->k * sizeof *rows);
            to += n * from->k * sizeof *rows;
        }
    }
}

// *at: the next free byte of the backend's memory for adapters.
static rn_status load_matrix(const struct cpu_backend *b, const struct matrix *from, uint8_t **at, struct matrix *m,
                             struct cpu_matrix *cm, rn_error *err) {
    const struct matmul_ops *ops = &b->k->matmul[TENSOR_F32];
    const size_t bytes = float_bytes(b, from), row_bytes = from->k * sizeof(float);
    float *const rows = mem_alloc(PANEL_ROWS * row_bytes);
    if (!rows) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for rows of %s", from->name);
    *m = (struct matrix){.name = from->name,
                         .type = TENSOR_F32,
                         .k = from->k,
                         .n_out = from->n_out,
                         .row_bytes = row_bytes,
                         .n_slices = from->n_slices,
                         .slice_bytes = from->n_out * row_bytes};
    *cm = (struct cpu_matrix){.m = m, .ops = ops};
    const size_t slice = ops->pack ? ceil_div(m->n_out, PANEL_ROWS) * ops->panel_bytes(m->k) : m->slice_bytes;
    for (size_t i = 0; i < m->n_slices; i++) pack(b, from, i, rows, *at + i * slice);
    if (ops->pack)
        cm->panels = *at, cm->panel_bytes = ops->panel_bytes(m->k);
    else
        m->data = *at;
    *at += bytes;
    mem_free(rows);
    if (from->file) file_map_forget(from->file, (size_t)(from->data - from->file->data), matrix_bytes(from));
    return RN_OK;
}

static rn_status load_one(const struct cpu_backend *b, const struct op *o, const struct op_adapter *from, size_t *n,
                          uint8_t **at, struct cpu_adapter *to, rn_error *err) {
    *to = (struct cpu_adapter){.rank = from->rank, .scale = from->scale, .at = *n};
    if (from->rank == 0) return RN_OK;
    to->stride = round_up(from->rank, PROGRAM_PART_ALIGN);
    *n += to->stride * (has_product(o) && o->kind != OP_EXPERTS ? from->a.n_slices : 1);
    rn_status st = RN_OK;
    if (has_product(o))
        st = load_matrix(b, &from->a, at, &to->am, &to->a, err);
    else
        to->am = from->a;
    return st == RN_OK ? load_matrix(b, &from->b, at, &to->bm, &to->b, err) : st;
}

rn_status cpu_adapters_load(struct cpu_backend *b, rn_error *err) {
    const struct program *p = b->p;
    if (p->n_adapters == 0) return RN_OK;
    if (b->weights_of) {
        b->adapters = b->weights_of->adapters;
        b->adapters_of = b->weights_of->adapters_of;
        return RN_OK;
    }
    size_t n_ops = 0;
    for (size_t i = 0; i < p->n_ops; i++) n_ops += p->ops[i].weights.adapters != NULL;
    if (n_ops == 0) return RN_OK;
    b->adapter_panels_bytes = (size_t)cpu_adapters_bytes(b, p);
    b->adapters = mem_calloc(n_ops * p->n_adapters, sizeof *b->adapters);
    b->adapters_of = mem_calloc(p->n_ops, sizeof *b->adapters_of);
    b->adapter_panels = b->adapter_panels_bytes ? mem_pages(b->adapter_panels_bytes) : NULL;
    if (!b->adapters || !b->adapters_of || (b->adapter_panels_bytes && !b->adapter_panels))
        return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu bytes of adapters", b->adapter_panels_bytes);
    uint8_t *at = b->adapter_panels;
    struct cpu_adapter *to = b->adapters;
    rn_status st = RN_OK;
    for (size_t i = 0; st == RN_OK && i < p->n_ops; i++) {
        const struct op *o = &p->ops[i];
        size_t n = 0;
        if (!o->weights.adapters) continue;
        b->adapters_of[i] = to;
        for (size_t k = 0; st == RN_OK && k < p->n_adapters; k++, to++)
            st = load_one(b, o, &o->weights.adapters[k], &n, &at, to, err);
    }
    return st;
}

// ---- a step ---------------------------------------------------------------------------------------------------------

struct thread_room {
    unsigned turn; // which half of the shared room the next op uses
};

static uint8_t *thread_room(const struct op_run *x, size_t at) {
    return x->b->adapter_room.threads + (size_t)x->i_thread * x->b->adapter_room.thread_bytes + at;
}

void cpu_adapters_step(struct cpu_backend *b) {
    const struct batch *batch = b->batch;
    b->adapters_used = 0;
    for (size_t i = 0; b->adapters && i < batch->n_rows; i++) {
        const struct batch_seq *q = &batch->seqs[batch->rows[i].seq];
        for (int32_t k = 0; k < q->n_adapters; k++) b->adapters_used |= UINT64_C(1) << q->adapters[k].adapter;
    }
    for (int i = 0; b->adapters_used && i < pool_n_threads(b->threads); i++) {
        struct thread_room *t = (void *)(b->adapter_room.threads + (size_t)i * b->adapter_room.thread_bytes);
        t->turn = 0;
    }
}

static bool uses(const struct op_run *x, size_t adapter) {
    return x->o->adapters && x->o->adapters[adapter].rank && (x->b->adapters_used >> adapter & 1);
}
static bool any_used(const struct op_run *x) {
    bool any = false;
    for (size_t i = 0; x->b->adapters_used && !any && i < x->b->p->n_adapters; i++) any = uses(x, i);
    return any;
}

// How the row of the batch uses the adapter; NULL: not at all.
static const struct batch_adapter *use_of(const struct batch *batch, size_t row, size_t adapter) {
    const struct batch_seq *q = &batch->seqs[batch->rows[row].seq];
    for (int32_t i = 0; i < q->n_adapters; i++)
        if (q->adapters[i].adapter == (int32_t)adapter) return &q->adapters[i];
    return NULL;
}
// The same for row r of an op.
static const struct batch_adapter *use_of_row(const struct op_run *x, size_t r, size_t adapter) {
    const struct batch *batch = x->b->batch;
    return use_of(batch, x->o->op.rows == ROWS_ALL ? r : (size_t)batch->wanted[r], adapter);
}
// The rows from *begin on, before `end`, that use the adapter, as many as are adjacent; their number, 0: none are left.
static size_t next_run(const struct op_run *x, size_t adapter, size_t *begin, size_t end) {
    while (*begin < end && !use_of_row(x, *begin, adapter)) ++*begin;
    size_t n = 0;
    while (*begin + n < end && use_of_row(x, *begin + n, adapter)) n++;
    return n;
}

// Outputs of n panels from `panel` on, at most n_out, for all rows.
static void multiply(const struct op_run *x, const struct cpu_matrix *cm, size_t slice, size_t panel, size_t n_out,
                     const float *rows, size_t stride, size_t n_rows, float *out, size_t out_stride) {
    const struct matrix *m = cm->m;
    const size_t n_panels = ceil_div(m->n_out, PANEL_ROWS);
    const uint8_t *w = cm->panels ? cm->panels + (slice * n_panels + panel) * cm->panel_bytes
                                  : m->data + slice * m->slice_bytes + panel * PANEL_ROWS * m->row_bytes;
    matmul_run(cm->ops, w, m->row_bytes, n_out, m->k, rows, stride * sizeof *rows, n_rows, out, out_stride,
               thread_room(x, x->b->adapter_room.scratch_at));
}

// The product of A x with the scales of the adapter and of the row's sequence.
static void scale_row(const struct op_run *x, const struct cpu_adapter *a, const struct batch_adapter *use,
                      float *ax) {
    x->b->k->scale(ax, a->scale * use->scale, a->rank);
}

// Adds panels [begin, end) of B times rows of A x to rows of results.
static void add_product(const struct op_run *x, const struct cpu_adapter *a, size_t slice, size_t begin, size_t end,
                        const float *ax, size_t ax_stride, size_t n_rows, float *out, size_t out_stride) {
    float *const tile = (float *)(void *)thread_room(x, x->b->adapter_room.tile_at);
    const size_t n_out = a->bm.n_out;
    for (size_t r = 0, n; r < n_rows; r += n) {
        n = n_rows - r < TILE_ROWS ? n_rows - r : TILE_ROWS;
        for (size_t panel = begin, to; panel < end; panel = to) {
            to = end - panel < TILE_PANELS ? end : panel + TILE_PANELS;
            const size_t first = panel * PANEL_ROWS, last = to * PANEL_ROWS < n_out ? to * PANEL_ROWS : n_out;
            multiply(x, &a->b, slice, panel, last - first, ax + r * ax_stride, ax_stride, n, tile,
                     TILE_PANELS * PANEL_ROWS);
            for (size_t i = 0; i < n; i++)
                x->b->k->add(out + (r + i) * out_stride + first, tile + i * TILE_PANELS * PANEL_ROWS, last - first);
        }
    }
}

// ---- linear ops -----------------------------------------------------------------------------------------------------

// Where A x of the op's rows is.
static float *rows_of(const struct op_run *x, size_t member) {
    const struct adapter_room *r = &x->b->adapter_room;
    if (x->b->schedule != SCHEDULE_ROWS)
        return (float *)(void *)thread_room(x, r->own_at) + member * r->n_own * r->stride;
    const struct thread_room *t = (void *)thread_room(x, 0);
    return (float *)(void *)r->shared + (t->turn & 1) * x->b->sizes.n_batch * r->stride;
}

static void multiply_a(const struct op_run *x, float *out, size_t begin, size_t end) {
    const struct cpu_backend *b = x->b;
    const size_t stride = b->adapter_room.stride;
    const struct op_head *head = &x->o->op.heads.src;
    for (size_t k = 0; k < b->p->n_adapters; k++) {
        if (!uses(x, k)) continue;
        const struct cpu_adapter *a = &x->o->adapters[k];
        for (size_t r = begin, n; (n = next_run(x, k, &r, end)) > 0; r += n) {
            for (size_t s = 0; s < a->am.n_slices; s++) {
                float *const to = out + r * stride + a->at + s * a->stride;
                multiply(x, &a->a, s, 0, a->rank, run_src(x, r) + head->at + s * (size_t)head->stride,
                         b->stride[x->o->op.src], n, to, stride);
                for (size_t i = 0; i < n; i++) scale_row(x, a, use_of_row(x, r + i, k), to + i * stride);
            }
        }
    }
}

void cpu_adapters_begin(const struct op_run *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct op_run member = run_member(x, i);
        size_t begin = 0, end = x->n_rows;
        if (member.o->op.kind != OP_LINEAR || !any_used(&member)) continue;
        if (x->b->schedule != SCHEDULE_ROWS) {
            multiply_a(&member, rows_of(&member, i), begin, end);
            continue;
        }
        // No op is joined to another one in such steps. A thread that is one op ahead writes the other half of the shared room.
        struct thread_room *t = (void *)thread_room(x, 0);
        t->turn++;
        pool_share(x->n_rows, 1, x->i_thread, x->n_threads, &begin, &end);
        multiply_a(&member, rows_of(&member, i), begin, end);
        pool_barrier(x->b->threads, x->i_thread);
    }
}

void cpu_adapters_add(const struct op_run *x, size_t member, size_t slice, size_t begin, size_t end) {
    const struct cpu_backend *b = x->b;
    const size_t stride = b->adapter_room.stride;
    if (!x->b->adapters_used || !x->o->adapters) return;
    const float *const ax = rows_of(x, member);
    float *const out = run_dst(x, 0) + x->o->op.heads.dst.at + slice * (size_t)x->o->op.heads.dst.stride;
    for (size_t k = 0; k < b->p->n_adapters; k++) {
        if (!uses(x, k)) continue;
        const struct cpu_adapter *a = &x->o->adapters[k];
        const size_t n_out = b->stride[x->o->op.dst];
        for (size_t r = 0, n; (n = next_run(x, k, &r, x->n_rows)) > 0; r += n)
            add_product(x, a, slice, begin, end, ax + r * stride + a->at + slice * a->stride, stride, n,
                        out + r * n_out, n_out);
    }
}

// ---- embeddings and experts -------------------------------------------------------------------------------------------------

void cpu_adapters_add_token(const struct op_run *x, size_t row, float *out) {
    float *const ax = (float *)(void *)thread_room(x, x->b->adapter_room.expert_at);
    for (size_t k = 0; x->b->adapters_used && k < x->b->p->n_adapters; k++) {
        const struct batch_adapter *use = uses(x, k) ? use_of_row(x, row, k) : NULL;
        if (!use) continue;
        const struct cpu_adapter *a = &x->o->adapters[k];
        const size_t token = (size_t)x->b->batch->rows[row].token;
        tensor_type_info(a->am.type)->dequantize_row(a->am.data + token * a->am.row_bytes, ax, a->rank);
        scale_row(x, a, use, ax);
        add_product(x, a, 0, 0, ceil_div(a->bm.n_out, PANEL_ROWS), ax, a->stride, 1, out, 0);
    }
}

// Rows from *begin on that use the adapter, at most EXPERT_ROWS, and only one after the other where they are gathered.
static size_t next_expert_run(const struct op_run *x, const struct expert_rows *rows, size_t adapter, size_t *begin) {
    while (*begin < rows->n && !use_of(x->b->batch, rows->row_of[*begin], adapter)) ++*begin;
    size_t n = 0;
    while (n < EXPERT_ROWS && *begin + n < rows->n && use_of(x->b->batch, rows->row_of[*begin + n], adapter)) n++;
    return n;
}

void cpu_adapters_add_expert(const struct op_run *x, size_t expert, const struct expert_rows *rows, size_t begin,
                             size_t end) {
    const struct adapter_room *room = &x->b->adapter_room;
    float *const gathered = (float *)(void *)thread_room(x, room->gathered_at);
    float *const ax = (float *)(void *)thread_room(x, room->expert_at);
    if (!x->b->adapters_used || !x->o->adapters) return;
    for (size_t k = 0; k < x->b->p->n_adapters; k++) {
        if (!uses(x, k)) continue;
        const struct cpu_adapter *a = &x->o->adapters[k];
        for (size_t r = 0, n; (n = next_expert_run(x, rows, k, &r)) > 0; r += n) {
            const size_t width = a->am.k;
            for (size_t i = 0; i < n; i++)
                memcpy(gathered + i * width,
                       rows->src + (rows->by_row ? rows->row_of[r + i] : r + i) * rows->src_stride,
                       width * sizeof *gathered);
            multiply(x, &a->a, expert, 0, a->rank, gathered, width, n, ax, a->stride);
            for (size_t i = 0; i < n; i++)
                scale_row(x, a, use_of(x->b->batch, rows->row_of[r + i], k), ax + i * a->stride);
            add_product(x, a, expert, begin, end, ax, a->stride, n, rows->out + r * rows->out_stride,
                        rows->out_stride);
        }
    }
}
