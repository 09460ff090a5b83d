// backend/cpu/cpu_weights.c - weight matrices in the kernel set's layout: packed in parallel, or used as the file has them.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/mem.h"
#include <string.h>

static const struct matmul_ops *ops_of(const struct cpu_backend *b, const struct matrix *m) {
    return &b->k->matmul[m->type];
}

// Is the matrix multiplied by any op, and are its rows read by any?
static bool used_by(const struct program *p, size_t matrix, enum op_kind kind) {
    for (size_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == kind && p->ops[i].matrix == (int32_t)matrix) return true;
    return false;
}

static size_t packed_bytes(const struct cpu_backend *b, const struct matrix *m) {
    const struct matmul_ops *ops = ops_of(b, m);
    return ops->pack ? ceil_div(m->n_out, PANEL_ROWS) * ops->panel_bytes(m->k) : 0;
}

void cpu_weights_plan(const struct cpu_backend *b, const struct program *p, struct backend_plan *out) {
    for (size_t i = 0; i < p->n_matrices; i++) {
        const struct matrix *m = &p->matrices[i];
        const size_t packed = used_by(p, i, OP_LINEAR) ? packed_bytes(b, m) : 0;
        out->repacked_bytes += packed;
        if (!packed || used_by(p, i, OP_EMBED)) out->mapped_bytes += m->n_out * m->row_bytes;
    }
}

struct pack_job {
    const struct cpu_matrix *cm;
    atomic_size_t next; // panel
};

static void pack_thread(void *ctx, int i_thread, int n_threads) {
    (void)i_thread, (void)n_threads;
    struct pack_job *job = ctx;
    const struct matrix *m = job->cm->m;
    const size_t n_panels = ceil_div(m->n_out, PANEL_ROWS);
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (i >= n_panels) return;
        const size_t left = m->n_out - i * PANEL_ROWS;
        job->cm->ops->pack(m->data + i * PANEL_ROWS * m->row_bytes, m->row_bytes,
                           left < PANEL_ROWS ? (int)left : PANEL_ROWS, m->k,
                           job->cm->panels + i * job->cm->panel_bytes);
    }
}

// Where each matrix lies in the one piece of memory that holds all panels: one piece, because only large ones get huge pages, which
// are worth 10 to 30 % of the speed at which weights are read.
static rn_status lay_out(struct cpu_backend *b, rn_error *err) {
    const struct program *p = b->p;
    b->matrices = mem_calloc(p->n_matrices, sizeof *b->matrices);
    if (!b->matrices) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu matrices", p->n_matrices);
    for (size_t i = 0; i < p->n_matrices; i++) {
        struct cpu_matrix *cm = &b->matrices[i];
        *cm = (struct cpu_matrix){.m = &p->matrices[i], .ops = ops_of(b, &p->matrices[i])};
        if (!cm->ops->pack || !used_by(p, i, OP_LINEAR)) continue;
        cm->panel_bytes = cm->ops->panel_bytes(cm->m->k);
        cm->panels_at = b->panels_bytes;
        b->panels_bytes += packed_bytes(b, cm->m);
    }
    if (b->panels_bytes && !(b->panels = mem_pages(b->panels_bytes)))
        return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu bytes of repacked weights", b->panels_bytes);
    for (size_t i = 0; i < p->n_matrices; i++)
        if (b->matrices[i].panel_bytes) b->matrices[i].panels = b->panels + b->matrices[i].panels_at;
    return RN_OK;
}

rn_status cpu_weights_load(struct cpu_backend *b, backend_progress progress, void *user, rn_error *err) {
    const rn_status st = lay_out(b, err);
    uint64_t done = 0;
    for (size_t i = 0; st == RN_OK && i < b->p->n_matrices; i++) {
        const struct cpu_matrix *cm = &b->matrices[i];
        if (!cm->panels) continue;
        struct pack_job job = {.cm = cm};
        pool_run(b->threads, pack_thread, &job);
        done += packed_bytes(b, cm->m);
        if (progress && progress(user, done, b->panels_bytes))
            return fail(err, RN_E_CANCELLED, "repacking: stopped after %llu of %zu bytes", (unsigned long long)done,
                        b->panels_bytes);
    }
    return st;
}

void cpu_weights_free(struct cpu_backend *b) {
    if (b->panels) mem_pages_free(b->panels, b->panels_bytes);
    mem_free(b->matrices);
}
