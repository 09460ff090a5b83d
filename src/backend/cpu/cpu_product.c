// backend/cpu/cpu_product.c - see cpu_product.h.
#include "backend/cpu/cpu_product.h"
#include "base/checked.h"

// The activations of one pass over a matrix stay below this size, so that every panel finds them in the L2 cache. Kernels for many rows
// unpack each panel once per pass; they take as many rows as they are tuned for.
#define ROWS_PASS_BYTES ((size_t)512 << 10)
#define GEMM_PASS_ROWS  512

size_t cpu_slice_panels(const struct cpu_matrix *cm) { return ceil_div(cm->m->n_out, PANEL_ROWS); }

size_t cpu_panel_output(const struct cpu_matrix *cm, size_t panel) {
    return panel * PANEL_ROWS < cm->m->n_out ? panel * PANEL_ROWS : cm->m->n_out;
}

size_t cpu_product_scratch(const struct cpu_backend *b, const struct matrix *m) {
    const struct matmul_ops *ops = &b->k->matmul[m->type];
    const size_t panels = b->keeps_rows ? cpu_panels_at_once(ops, m->k) : 0;
    return (ops->gemm ? ops->gemm_scratch(m->k) : 0) + (panels ? panels * ops->panel_bytes(m->k) : 0);
}

// Computes outputs [begin, end) with weights w for all rows, in passes of rows that fit into the cache.
static void multiply(const struct cpu_backend *b, const struct product *p, const uint8_t *w, size_t begin, size_t end,
                     void *scratch) {
    const struct cpu_matrix *cm = p->cm;
    const size_t few = ROWS_PASS_BYTES / p->act_stride > 16 ? ROWS_PASS_BYTES / p->act_stride & ~(size_t)15 : 16;
    const size_t pass = matmul_by_gemm(cm->ops, p->n_rows) ? GEMM_PASS_ROWS : few;
    for (size_t r = 0; r < p->n_rows; r += pass) {
        const size_t n = p->n_rows - r < pass ? p->n_rows - r : pass;
        matmul_run(cm->ops, w, cm->m->row_bytes, end - begin, cm->m->k, p->acts + r * p->act_stride, p->act_stride, n,
                   p->out + r * p->out_stride + begin, p->out_stride, scratch);
    }
    for (size_t r = 0; cm->m->factors && r < p->n_rows; r++)
        b->k->scale(p->out + r * p->out_stride + begin, cm->m->factors[p->slice], end - begin);
    for (size_t r = 0; p->bias && r < p->n_rows; r++)
        b->k->add(p->out + r * p->out_stride + begin, p->bias + begin, end - begin);
}

static const uint8_t *file_row(const struct product *p, size_t row) {
    return p->cm->m->data + p->slice * p->cm->m->slice_bytes + row * p->cm->m->row_bytes;
}

// The same if the kernel set multiplies with panels but none are kept: a few at a time are packed, used and overwritten.
static void multiply_rows(const struct cpu_backend *b, const struct product *p, size_t begin, size_t end,
                          uint8_t *scratch) {
    const struct cpu_matrix *cm = p->cm;
    const size_t at_once = cpu_panels_at_once(cm->ops, cm->m->k);
    for (size_t from = begin, to; from < end; from = to) {
        to = end - from < at_once * PANEL_ROWS ? end : from + at_once * PANEL_ROWS;
        for (size_t row = from; row < to; row += PANEL_ROWS)
            cm->ops->pack(file_row(p, row), cm->m->row_bytes, to - row < PANEL_ROWS ? (int)(to - row) : PANEL_ROWS,
                          cm->m->k, scratch + (row - from) / PANEL_ROWS * cm->panel_bytes);
        multiply(b, p, scratch, from, to, scratch + at_once * cm->panel_bytes);
    }
}

void cpu_product_run(const struct cpu_backend *b, const struct product *p, size_t begin, size_t end,
                     uint8_t *scratch) {
    const struct cpu_matrix *cm = p->cm;
    const size_t from = cpu_panel_output(cm, begin), to = cpu_panel_output(cm, end);
    if (cm->panels)
        multiply(b, p, cm->panels + (p->slice * cpu_slice_panels(cm) + begin) * cm->panel_bytes, from, to, scratch);
    else if (cm->panel_bytes)
        multiply_rows(b, p, from, to, scratch);
    else
        multiply(b, p, file_row(p, from), from, to, scratch);
}
