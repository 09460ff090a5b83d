// backend/cpu/cpu_linear.c - matrix products: pieces of outputs that threads claim, and what goes together with them on each piece.
#include "backend/cpu/cpu_profile.h"
#include "backend/cpu/cpu_run.h"
#include "base/checked.h"

// Activations of one pass of a matrix stay below this, so that they come from the second-level cache for every panel. A way for many
// rows unpacks panels once for each pass: it takes as many rows as its figures were measured with.
#define ROWS_PASS_BYTES ((size_t)512 << 10)
#define GEMM_PASS_ROWS  512

static const struct cpu_matrix *matrix_of(const struct op_run *x) { return &x->b->matrices[x->o->op.matrix]; }

// Outputs [begin, end) of the matrix, whose weights are w, for all rows, in passes of rows that fit the cache.
static void multiply(const struct op_run *x, const uint8_t *w, size_t begin, size_t end, void *scratch) {
    const struct cpu_backend *b = x->b;
    const struct cpu_matrix *cm = matrix_of(x);
    const struct op *o = &x->o->op;
    const bool plain = x->o->format == ACT_F32;
    const uint8_t *acts = plain ? (const uint8_t *)run_src(x, 0) : run_act(x, 0);
    const size_t stride = plain ? b->stride[o->src] * sizeof(float) : b->act_stride[x->o->act];
    const size_t few = ROWS_PASS_BYTES / stride > 16 ? ROWS_PASS_BYTES / stride & ~(size_t)15 : 16;
    const size_t pass = matmul_by_gemm(cm->ops, x->n_rows) ? GEMM_PASS_ROWS : few;
    for (size_t r = 0; r < x->n_rows; r += pass) {
        const size_t n = x->n_rows - r < pass ? x->n_rows - r : pass;
        matmul_run(cm->ops, w, cm->m->row_bytes, end - begin, cm->m->k, acts + r * stride, stride, n,
                   run_dst(x, r) + begin, b->stride[o->dst], scratch);
    }
    if (o->vec)
        for (size_t r = 0; r < x->n_rows; r++) b->k->add(run_dst(x, r) + begin, o->vec + begin, end - begin);
}

// The same where the set wants panels and none are kept: a few are made, multiplied with, and overwritten by the next.
static void multiply_rows(const struct op_run *x, size_t begin, size_t end, uint8_t *scratch) {
    const struct cpu_matrix *cm = matrix_of(x);
    const size_t at_once = cpu_panels_at_once(cm->ops, cm->m->k);
    for (size_t from = begin, to; from < end; from = to) {
        to = end - from < at_once * PANEL_ROWS ? end : from + at_once * PANEL_ROWS;
        for (size_t row = from; row < to; row += PANEL_ROWS)
            cm->ops->pack(cm->m->data + row * cm->m->row_bytes, cm->m->row_bytes,
                          to - row < PANEL_ROWS ? (int)(to - row) : PANEL_ROWS, cm->m->k,
                          scratch + (row - from) / PANEL_ROWS * cm->panel_bytes);
        multiply(x, scratch, from, to, scratch + at_once * cm->panel_bytes);
    }
}

static size_t n_panels(const struct op_run *x) { return ceil_div(matrix_of(x)->m->n_out, PANEL_ROWS); }
static size_t outputs_before(const struct op_run *x, size_t panel) {
    const size_t n_out = matrix_of(x)->m->n_out;
    return panel * PANEL_ROWS < n_out ? panel * PANEL_ROWS : n_out;
}

// Panels [begin, end) of the outputs.
static void multiply_panels(const struct op_run *x, size_t begin, size_t end) {
    const struct cpu_matrix *cm = matrix_of(x);
    const size_t from = outputs_before(x, begin), to = outputs_before(x, end);
    uint8_t *const scratch = cpu_scratch(x->b, x->i_thread);
    if (cm->panels)
        multiply(x, cm->panels + begin * cm->panel_bytes, from, to, scratch);
    else if (cm->panel_bytes)
        multiply_rows(x, from, to, scratch);
    else
        multiply(x, cm->m->data + from * cm->m->row_bytes, from, to, scratch);
}

// Pieces ------------------------------------------------------------------------------------------------------------------

// Panels in pieces that threads claim, so that one that the machine delays does not hold up the others. A round is a piece for each
// thread, together half of what is left: few claims, and the last pieces are small, so that all are done at about the same time. A way
// for many rows makes something of the rows for each piece, and takes panels in pairs: fewer and even pieces.
struct pieces {
    size_t n_panels, n_threads;
    size_t even; // panels of each piece; 0: in rounds
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

// false: there are no more.
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

// The piece of the panels of all members, one matrix behind the other.
static void run_in_a_row(const struct op_run *x, size_t begin, size_t end) {
    size_t first = 0; // panel of the member
    for (size_t i = 0; first < end; i++) {
        const struct op_run member = run_member(x, i);
        const size_t n = n_panels(&member), from = begin > first ? begin - first : 0;
        if (from < n) {
            multiply_panels(&member, from, end - first < n ? end - first : n);
            cpu_profile_part(x, i);
        }
        first += n;
    }
}

// The same piece of each member: the last one takes its columns of what the others make.
static void run_side_by_side(const struct op_run *x, size_t begin, size_t end) {
    const size_t last = run_way(x)->n_together - 1U;
    for (size_t i = 0; i < last; i++) {
        const struct op_run member = run_member(x, i);
        multiply_panels(&member, begin, end);
        cpu_profile_part(x, i);
    }
    const struct op_run columns = run_member(x, last);
    cpu_op_columns(&columns, outputs_before(x, begin), outputs_before(x, end));
    cpu_profile_part(x, last);
}

void linear_run(const struct op_run *x) {
    const size_t n = run_way(x)->n_together;
    const bool side_by_side = x->o[n - 1].op.kind != OP_LINEAR;
    size_t all = 0, begin, end;
    bool by_gemm = false;
    for (size_t i = 0; i < n - side_by_side; i++) {
        const struct op_run member = run_member(x, i);
        all = side_by_side ? n_panels(&member) : all + n_panels(&member);
        by_gemm = by_gemm || matmul_by_gemm(matrix_of(&member)->ops, x->n_rows);
    }
    const struct pieces pieces = pieces_of(x, all, by_gemm);
    while (claim_piece(x, &pieces, &begin, &end)) {
        if (side_by_side)
            run_side_by_side(x, begin, end);
        else
            run_in_a_row(x, begin, end);
    }
}
