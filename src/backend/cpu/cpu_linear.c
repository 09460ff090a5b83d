// backend/cpu/cpu_linear.c - matrix products: threads claim pieces of the outputs, and run the joined ops on each piece.
#include "backend/cpu/cpu_adapters.h"
#include "backend/cpu/cpu_product.h"
#include "backend/cpu/cpu_profile.h"
#include "base/checked.h"

static const struct cpu_matrix *matrix_of(const struct op_run *x) { return &x->b->matrices[x->o->op.weights.matrix]; }

// The outputs of slices are adjacent; each slice has its own panels.
static size_t n_panels(const struct op_run *x) { return matrix_of(x)->m->n_slices * cpu_slice_panels(matrix_of(x)); }

// Panels [begin, end) of a slice for all rows, without adapters. A slice reads one head of the source and writes one of the outputs, or reads and writes all.
static void multiply_slice(const struct op_run *x, size_t slice, size_t begin, size_t end) {
    const struct cpu_backend *b = x->b;
    const struct op *o = &x->o->op;
    const bool plain = x->o->format == ACT_F32;
    const size_t act_stride = plain ? b->stride[o->src] * sizeof(float) : b->act_stride[x->o->act];
    const size_t head = plain ? (size_t)o->heads.src.stride * sizeof(float) : act_stride / matrix_of(x)->m->n_slices;
    const struct product p = {
        .cm = matrix_of(x),
        .slice = slice,
        .acts = (plain ? (const uint8_t *)(run_src(x, 0) + o->heads.src.at) : run_act(x, 0)) + slice * head,
        .act_stride = act_stride,
        .n_rows = x->n_rows,
        .out = run_dst(x, 0) + o->heads.dst.at + slice * (size_t)o->heads.dst.stride,
        .out_stride = b->stride[o->dst],
        .bias = o->weights.vec,
    };
    cpu_product_run(b, &p, begin, end, cpu_scratch(b, x->i_thread));
}

// member: number of the op among the joined ones.
static void multiply_panels(const struct op_run *x, size_t member, size_t begin, size_t end) {
    const size_t n = cpu_slice_panels(matrix_of(x));
    for (size_t slice = begin / n; slice * n < end; slice++) {
        const size_t first = slice * n, from = begin > first ? begin - first : 0,
                     to = end - first < n ? end - first : n;
        multiply_slice(x, slice, from, to);
        cpu_adapters_add(x, member, slice, from, to);
    }
}

// Pieces ------------------------------------------------------------------------------------------------------------------

// Threads claim pieces of the panels, so that a thread that is delayed does not hold up the others. A round is one piece for each
// thread, together half of what is left: few claims, and small pieces at the end, so that all threads finish at about the same time.
// Kernels for many rows convert the rows for each piece and take panels in pairs: they have fewer pieces, of an even number of panels.
struct pieces {
    size_t n_panels, n_threads;
    size_t even; // panels of each piece; 0: pieces of rounds
};

static struct pieces pieces_of(const struct op_run *x, size_t n_panels, bool by_gemm) {
    const size_t n_threads = (size_t)x->n_threads;
    struct pieces p = {n_panels, n_threads, 0};
    if (n_threads == 1)
        p.even = n_panels;
    else if (by_gemm)
        p.even = round_up(ceil_div(n_panels, n_threads * 4), 2);
    return p;
}

// false: no pieces are left.
static bool claim_piece(const struct op_run *x, const struct pieces *p, size_t *begin, size_t *end) {
    size_t i = atomic_fetch_add_explicit(x->o->claimed, 1, memory_order_relaxed), at = 0, each = p->even;
    while (!p->even && at < p->n_panels) {
        const size_t left = p->n_panels - at;
        each = left / (2 * p->n_threads) ? left / (2 * p->n_threads) : 1;
        if (i < p->n_threads) break;
        i -= p->n_threads;
        at += each * p->n_threads;
    }
    *begin = at + i * each;
    *end = *begin + each < p->n_panels ? *begin + each : p->n_panels;
    return *begin < p->n_panels;
}

// The piece of the panels of all members, counted through their matrices in order.
static void run_in_a_row(const struct op_run *x, size_t begin, size_t end) {
    size_t first = 0; // first panel of the member
    for (size_t i = 0; first < end; i++) {
        const struct op_run member = run_member(x, i);
        const size_t n = n_panels(&member), from = begin > first ? begin - first : 0;
        if (from < n) {
            multiply_panels(&member, i, from, end - first < n ? end - first : n);
            cpu_profile_part(x, i);
        }
        first += n;
    }
}

// The same piece of each member; the last one computes these columns from the others' results.
static void run_side_by_side(const struct op_run *x, size_t begin, size_t end) {
    const size_t last = run_schedule(x)->n_together - 1U;
    for (size_t i = 0; i < last; i++) {
        const struct op_run member = run_member(x, i);
        multiply_panels(&member, i, begin, end);
        cpu_profile_part(x, i);
    }
    const struct op_run columns = run_member(x, last);
    cpu_op_columns(&columns, cpu_panel_output(matrix_of(x), begin), cpu_panel_output(matrix_of(x), end));
    cpu_profile_part(x, last);
}

void linear_run(const struct op_run *x) {
    const size_t n = run_schedule(x)->n_together;
    const bool side_by_side = x->o[n - 1].op.kind != OP_LINEAR;
    size_t all = 0, begin, end;
    bool by_gemm = false;
    for (size_t i = 0; i < n - side_by_side; i++) {
        const struct op_run member = run_member(x, i);
        all = side_by_side ? n_panels(&member) : all + n_panels(&member);
        by_gemm = by_gemm || matmul_by_gemm(matrix_of(&member)->ops, x->n_rows);
    }
    const struct pieces pieces = pieces_of(x, all, by_gemm);
    cpu_adapters_begin(x, n - side_by_side);
    while (claim_piece(x, &pieces, &begin, &end)) {
        if (side_by_side)
            run_side_by_side(x, begin, end);
        else
            run_in_a_row(x, begin, end);
    }
}
