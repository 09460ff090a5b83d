// backend/cpu/cpu_experts.c - see cpu_experts.h.
#include "backend/cpu/cpu_experts.h"
#include "backend/cpu/cpu_adapters.h"
#include "backend/cpu/cpu_product.h"
#include "backend/cpu/cpu_profile.h"
#include "base/checked.h"
#include <string.h>

_Static_assert(PROGRAM_PART_ALIGN % PANEL_ROWS == 0, "a product writes whole panels of a part");

#define GATHER_BYTES ((size_t)1 << 20) // of rows gathered for an expert: they stay in the L2 cache
#define GATHER_ROWS  512               // as many as the kernels for many rows are tuned for

// Pairs ----------------------------------------------------------------------------------------------------------------------

struct pairs {
    size_t n_expert, n_used, n;
    uint32_t *first;  // [n_expert + 1] place of an expert's first pair
    uint32_t *row_of; // [n] row of the pair at each place
    uint32_t *place;  // [rows][n_used], in routing order
};

static size_t pairs_bytes(const struct program *p, size_t n_rows) {
    const size_t n_pairs = n_rows * (size_t)p->routing.n_used;
    return round_up(((size_t)p->routing.n_expert + 1 + 2 * n_pairs) * sizeof(uint32_t), 64);
}

// The slice of an op's matrix that an expert has.
static size_t slice_of(const struct op *o, size_t expert) {
    return o->experts.per_slice > 1 ? expert / (size_t)o->experts.per_slice : expert;
}

static size_t expert_of(const float *choices, size_t n_used, size_t i) { return (size_t)choices[n_used + i]; }

// Sorts the pairs by expert. Each thread does it for itself, which is faster than sharing it. memory: pairs_bytes().
static struct pairs sort_pairs(const struct op_run *x, void *memory) {
    const struct routing *t = &x->b->p->routing;
    struct pairs p = {(size_t)t->n_expert, (size_t)t->n_used, x->n_rows * (size_t)t->n_used, memory, NULL, NULL};
    p.row_of = p.first + p.n_expert + 1;
    p.place = p.row_of + p.n;
    memset(p.first, 0, (p.n_expert + 1) * sizeof *p.first);
    for (size_t r = 0; r < x->n_rows; r++)
        for (size_t i = 0; i < p.n_used; i++) p.first[expert_of(run_src2(x, r), p.n_used, i) + 1]++;
    for (size_t e = 0; e < p.n_expert; e++) p.first[e + 1] += p.first[e];
    for (size_t r = 0; r < x->n_rows; r++)
        for (size_t i = 0; i < p.n_used; i++) {
            uint32_t *const next = &p.first[expert_of(run_src2(x, r), p.n_used, i)];
            p.row_of[*next] = (uint32_t)r;
            p.place[r * p.n_used + i] = (*next)++;
        }
    memmove(p.first + 1, p.first, p.n_expert * sizeof *p.first); // each is the next one's first place
    p.first[0] = 0;
    return p;
}

void cpu_op_spread(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const struct pairs p = sort_pairs(x, cpu_scratch(x->b, x->i_thread));
    const size_t n = x->b->p->width[o->src];
    for (size_t r = begin; r < end; r++)
        for (size_t i = 0; i < p.n_used; i++) {
            float *const part = run_dst(x, 0) + p.place[r * p.n_used + i] * (size_t)o->heads.dst.stride;
            memcpy(part, run_src(x, r), n * sizeof *part);
            x->b->k->scale(part, run_src2(x, r)[i], n);
        }
}

void cpu_op_experts_sum(const struct op_run *x, size_t begin, size_t end) {
    const struct op *o = &x->o->op;
    const struct pairs p = sort_pairs(x, cpu_scratch(x->b, x->i_thread));
    const size_t n = (size_t)o->width, part_stride = x->b->stride[o->src] / p.n_used;
    for (size_t r = begin; r < end; r++) {
        float *const out = run_dst(x, r);
        memset(out, 0, n * sizeof *out);
        for (size_t i = 0; i < p.n_used; i++) {
            const float *part = run_src(x, 0) + p.place[r * p.n_used + i] * part_stride;
            x->b->k->add_scaled(out, part, o->experts_sum.is_weighted ? run_src2(x, r)[i] : 1, n);
        }
        if (o->weights.vec) x->b->k->add(out, o->weights.vec, n);
    }
}

void cpu_experts_collect(const struct op_run *x) {
    const struct cpu_backend *b = x->b;
    const struct op *o = &x->o->op;
    const struct pairs p = sort_pairs(x, cpu_scratch(b, x->i_thread));
    const size_t part = b->stride[o->src] / p.n_used, k = b->p->matrices[o->weights.matrix].k;
    for (size_t r = 0; r < x->n_rows; r++)
        for (size_t i = 0; i < p.n_used; i++)
            b->collect(b->collect_user, o->weights.matrix,
                       (int32_t)slice_of(o, expert_of(run_src2(x, r), p.n_used, i)),
                       o->experts.reads_parts ? run_src(x, 0) + p.place[r * p.n_used + i] * part : run_src(x, r), k);
}

// Rows of an expert ----------------------------------------------------------------------------------------------------------

static const struct cpu_matrix *matrix_of(const struct op_run *x) { return &x->b->matrices[x->o->op.weights.matrix]; }

// The activations that an op reads: rows, or parts of rows.
struct inputs {
    const uint8_t *at;
    size_t stride, bytes;
};

static struct inputs inputs_of(const struct op_run *x) {
    const struct cpu_backend *b = x->b;
    const struct op *o = &x->o->op;
    const size_t n_part = o->experts.reads_parts ? (size_t)o->heads.n : 1;
    if (x->o->format != ACT_F32)
        return (struct inputs){run_act(x, 0), b->act_stride[x->o->act] / n_part,
                               act_bytes(x->o->format, matrix_of(x)->m->k)};
    return (struct inputs){(const uint8_t *)run_src(x, 0), b->stride[o->src] * sizeof(float) / n_part,
                           matrix_of(x)->m->k * sizeof(float)};
}

static size_t gather_rows(size_t stride, size_t n_rows) {
    const size_t fit = GATHER_BYTES / stride & ~(size_t)15;
    const size_t most = fit < 16 ? 16 : fit < GATHER_ROWS ? fit : GATHER_ROWS;
    return most < n_rows ? most : n_rows;
}

static size_t gather_stride(const struct cpu_backend *b, const struct program *p, const struct op *o) {
    const struct matrix *m = &p->matrices[o->weights.matrix];
    const enum act_format f = b->k->matmul[m->type].act;
    return f == ACT_F32 ? round_up(p->width[o->src], PANEL_ROWS) * sizeof(float) : act_row_stride(f, m->k);
}

size_t cpu_experts_scratch(const struct cpu_backend *b, const struct program *p, const struct op *o, size_t n_rows) {
    size_t bytes = pairs_bytes(p, n_rows);
    if (o->kind != OP_EXPERTS) return bytes;
    const size_t stride = gather_stride(b, p, o);
    if (!o->experts.reads_parts) bytes += round_up(gather_rows(stride, n_rows) * stride, 64);
    return bytes + cpu_product_scratch(b, &p->matrices[o->weights.matrix]);
}

// The activations of the pairs at places [first, first + n). Rows that are not adjacent are copied to `gathered`.
static const uint8_t *bring(const struct inputs *in, bool src_parts, const struct pairs *p, size_t first, size_t n,
                            uint8_t *gathered) {
    if (src_parts) return in->at + first * in->stride;
    if (n == 1) return in->at + p->row_of[first] * in->stride;
    for (size_t i = 0; i < n; i++)
        memcpy(gathered + i * in->stride, in->at + p->row_of[first + i] * in->stride, in->bytes);
    return gathered;
}

// Pieces of work: panels of an expert for all rows that chose it -----------------------------------------------------------------

struct experts_work {
    const struct op_run *x;
    struct pairs pairs;
    size_t n_products; // of the joined ops; a column-wise op may follow them
    size_t n_panels;
    size_t target;         // cost of a piece
    size_t expert, before; // the expert being claimed, and the pieces before it
    uint8_t *memory;       // of this thread: gathered rows, then scratch of the products
};

// Cost of a panel for an expert, in rows: those that chose it, and a constant for reading or unpacking the panel.
#define PANEL_COST 8
static size_t cost_of(const struct experts_work *w, size_t expert) {
    const size_t n_rows = w->pairs.first[expert + 1] - w->pairs.first[expert];
    return n_rows ? n_rows + PANEL_COST : 0;
}

// Panels in each of an expert's pieces. Kernels for many rows take panels in pairs.
static size_t piece_panels(const struct experts_work *w, size_t expert) {
    const size_t n = ceil_div(w->target, cost_of(w, expert)), even = n > 1 ? round_up(n, 2) : n;
    return even < w->n_panels ? even : w->n_panels;
}

static struct experts_work plan_work(const struct op_run *x) {
    const size_t n = run_schedule(x)->n_together, n_threads = (size_t)x->n_threads;
    struct experts_work w = {.x = x, .memory = cpu_scratch(x->b, x->i_thread)};
    w.pairs = sort_pairs(x, w.memory);
    w.memory += pairs_bytes(x->b->p, x->n_rows);
    w.n_products = n - (x->o[n - 1].op.kind != OP_EXPERTS);
    w.n_panels = cpu_slice_panels(matrix_of(x));
    size_t cost = 0;
    for (size_t e = 0; e < w.pairs.n_expert; e++) cost += cost_of(&w, e);
    w.target = n_threads == 1 ? cost * w.n_panels : ceil_div(cost * w.n_panels, 4 * n_threads);
    return w;
}

// false: no pieces are left.
static bool claim(struct experts_work *w, size_t *begin, size_t *end) {
    const size_t i = atomic_fetch_add_explicit(w->x->o->claimed, 1, memory_order_relaxed);
    for (; w->expert < w->pairs.n_expert; w->expert++) {
        if (cost_of(w, w->expert) == 0) continue;
        const size_t each = piece_panels(w, w->expert), n = ceil_div(w->n_panels, each);
        if (i < w->before + n) {
            *begin = (i - w->before) * each;
            *end = *begin + each < w->n_panels ? *begin + each : w->n_panels;
            return true;
        }
        w->before += n;
    }
    return false;
}

// Panels [begin, end) of a member for the pairs at places [first, first + n), all of one expert.
static void multiply(const struct experts_work *w, const struct op_run *member, const uint8_t *acts, size_t stride,
                     size_t first, size_t n, size_t begin, size_t end, uint8_t *scratch) {
    const struct op *o = &member->o->op;
    const size_t slice = slice_of(o, w->expert);
    const struct product p = {
        .cm = matrix_of(member),
        .slice = slice,
        .acts = acts,
        .act_stride = stride,
        .n_rows = n,
        .out = run_dst(member, 0) + first * (size_t)o->heads.dst.stride,
        .out_stride = (size_t)o->heads.dst.stride,
        .bias = o->weights.vec ? o->weights.vec + slice * matrix_of(member)->m->n_out : NULL,
    };
    cpu_product_run(member->b, &p, begin, end, scratch);
}

static void add_adapters(const struct experts_work *w, const struct op_run *member, size_t first, size_t n,
                         size_t begin, size_t end) {
    const struct op *o = &member->o->op;
    if (!member->o->adapters) return;
    const size_t stride = member->b->stride[o->src] / (o->experts.reads_parts ? w->pairs.n_used : 1);
    const size_t out_stride = (size_t)o->heads.dst.stride;
    const struct expert_rows rows = {.src = run_src(member, 0) + (o->experts.reads_parts ? first * stride : 0),
                                     .src_stride = stride,
                                     .by_row = !o->experts.reads_parts,
                                     .row_of = w->pairs.row_of + first,
                                     .n = n,
                                     .out = run_dst(member, 0) + first * out_stride,
                                     .out_stride = out_stride};
    cpu_adapters_add_expert(member, slice_of(o, w->expert), &rows, begin, end);
}

static void run_columns(const struct experts_work *w, size_t first, size_t n, size_t begin, size_t end) {
    const struct op_run x = run_member(w->x, w->n_products);
    const size_t n_part = (size_t)w->x->o->op.heads.n, stride = (size_t)w->x->o->op.heads.dst.stride;
    for (size_t p = first; p < first + n; p++)
        cpu_op_columns_of_row(&x, p / n_part, p % n_part * stride + begin, p % n_part * stride + end);
    cpu_profile_part(w->x, w->n_products);
}

static void run_piece(const struct experts_work *w, size_t begin, size_t end) {
    const struct pairs *pairs = &w->pairs;
    const struct inputs in = inputs_of(w->x); // the same for all joined products
    const bool src_parts = w->x->o->op.experts.reads_parts;
    const size_t end_pair = pairs->first[w->expert + 1];
    const size_t most = src_parts ? pairs->n : gather_rows(in.stride, w->x->n_rows);
    uint8_t *const scratch = w->memory + (src_parts ? 0 : round_up(most * in.stride, 64));
    for (size_t first = pairs->first[w->expert], n; first < end_pair; first += n) {
        n = end_pair - first < most ? end_pair - first : most;
        const uint8_t *acts = bring(&in, src_parts, pairs, first, n, w->memory);
        for (size_t i = 0; i < w->n_products; i++) {
            const struct op_run member = run_member(w->x, i);
            multiply(w, &member, acts, in.stride, first, n, begin, end, scratch);
            add_adapters(w, &member, first, n, begin, end);
            cpu_profile_part(w->x, i);
        }
        if (w->n_products < run_schedule(w->x)->n_together)
            run_columns(w, first, n, cpu_panel_output(matrix_of(w->x), begin),
                        cpu_panel_output(matrix_of(w->x), end));
    }
}

void experts_run(const struct op_run *x) {
    struct experts_work w = plan_work(x);
    size_t begin, end, n_experts = 0;
    while (claim(&w, &begin, &end)) run_piece(&w, begin, end);
    for (size_t e = 0; e < w.pairs.n_expert; e++) n_experts += cost_of(&w, e) > 0;
    for (size_t i = 0; x->b->profile && x->i_thread == 0 && i < w.n_products; i++) {
        const struct op_run member = run_member(x, i);
        cpu_profile_count(&member, n_experts, w.pairs.n);
    }
}
