// backend/cpu/cpu_weights.c - weight matrices in the kernel set's layout: packed by all threads, or used as stored in the file.
#include "backend/cpu/cpu_private.h"
#include "base/checked.h"
#include "base/file_map.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

enum {
    ROUND_BYTES = 8 << 20,     // packed between two progress calls; the file's pages are released after each
    PIECE_BYTES = 256 << 10,   // packed by a thread at a time
    MOST_PIECES = 256,         // of a round: ends of matrices are smaller
    PANELS_AT_ONCE = 4,        // packed at a time if panels are not kept: as many as a kernel takes ...
    AT_ONCE_BYTES = 512 << 10, // ... but no more than fit into the L2 cache with the rows
};

static const struct matmul_ops *ops_of(const struct cpu_backend *b, const struct matrix *m) {
    return &b->k->matmul[m->type];
}

// Does any op multiply with the matrix, and does any read its rows?
static bool is_multiplied(const struct program *p, size_t matrix) {
    for (size_t i = 0; i < p->n_ops; i++)
        if (op_multiplies(p->ops[i].kind) && p->ops[i].weights.matrix == (int32_t)matrix) return true;
    return false;
}
static bool is_read(const struct program *p, size_t matrix) {
    for (size_t i = 0; i < p->n_ops; i++)
        if (!op_multiplies(p->ops[i].kind) && p->ops[i].weights.matrix == (int32_t)matrix) return true;
    return false;
}

static size_t packed_bytes(const struct cpu_backend *b, const struct matrix *m) {
    const struct matmul_ops *ops = ops_of(b, m);
    return ops->pack && !b->keeps_rows ? m->n_slices * ceil_div(m->n_out, PANEL_ROWS) * ops->panel_bytes(m->k) : 0;
}

// Is it in the plan of the backend on whose model this part stands?
static bool is_shared(const struct cpu_backend *b, const struct matrix *m) { return b->part_of && m->is_borrowed; }

size_t cpu_panels_at_once(const struct matmul_ops *ops, size_t k) {
    if (!ops->pack) return 0;
    const size_t fit = AT_ONCE_BYTES / ops->panel_bytes(k);
    return fit < 1 ? 1 : fit < PANELS_AT_ONCE ? fit : PANELS_AT_ONCE;
}

void cpu_weights_plan(const struct cpu_backend *b, const struct program *p, struct backend_memory *out) {
    if (b->weights_of) return; // they are in that backend's plan
    for (size_t i = 0; i < p->n_matrices; i++) {
        const struct matrix *m = &p->matrices[i];
        if (is_shared(b, m)) continue;
        const size_t packed = is_multiplied(p, i) ? packed_bytes(b, m) : 0;
        out->repacked_bytes += packed;
        if (m->file && (!packed || is_read(p, i))) out->mapped_bytes += m->n_slices * m->n_out * m->row_bytes;
    }
}

// The panels of a borrowed matrix. What a part multiplies with, its base does, too.
static uint8_t *panels_of_base(const struct cpu_backend *b, const struct matrix *m) {
    const struct cpu_backend *const base = b->part_of;
    for (size_t i = 0; i < base->p->n_matrices; i++)
        if (base->matrices[i].m->data == m->data && base->matrices[i].panels) return base->matrices[i].panels;
    return NULL;
}

// The offset of each matrix in the allocation that holds all panels. It is a single one because only large allocations get huge pages,
// with which weights are read 10 to 30 % faster.
static rn_status lay_out(struct cpu_backend *b, rn_error *err) {
    const struct program *p = b->p;
    b->matrices = mem_calloc(p->n_matrices, sizeof *b->matrices);
    if (!b->matrices) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu matrices", p->n_matrices);
    for (size_t i = 0; i < p->n_matrices; i++) {
        struct cpu_matrix *cm = &b->matrices[i];
        *cm = (struct cpu_matrix){.m = &p->matrices[i], .ops = ops_of(b, &p->matrices[i])};
        if (!cm->ops->pack || !is_multiplied(p, i)) continue;
        cm->panel_bytes = cm->ops->panel_bytes(cm->m->k);
        if (is_shared(b, cm->m)) {
            cm->panels = panels_of_base(b, cm->m);
            cm->is_shared = true;
            continue;
        }
        cm->panels_at = b->panels_bytes;
        b->panels_bytes += packed_bytes(b, cm->m);
    }
    if (b->panels_bytes && !(b->panels = mem_pages(b->panels_bytes)))
        return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %zu bytes of repacked weights", b->panels_bytes);
    for (size_t i = 0; b->panels && i < p->n_matrices; i++)
        if (b->matrices[i].panel_bytes && !b->matrices[i].is_shared)
            b->matrices[i].panels = b->panels + b->matrices[i].panels_at;
    return RN_OK;
}

// A position in the sequence of all panels of all matrices.
struct place {
    size_t matrix, panel;
};

static size_t n_panels(const struct cpu_matrix *cm) {
    return cm->panels && !cm->is_shared ? cm->m->n_slices * ceil_div(cm->m->n_out, PANEL_ROWS) : 0;
}

// Takes panels from `at` on up to n_bytes, at least one, of one matrix; advances `at`.
static size_t take_panels(const struct cpu_backend *b, struct place *at, size_t n_bytes) {
    const struct cpu_matrix *cm = &b->matrices[at->matrix];
    const size_t left = n_panels(cm) - at->panel, wanted = ceil_div(n_bytes, cm->panel_bytes);
    const size_t n = wanted < left ? wanted : left;
    at->panel += n;
    return n;
}
// Skips matrices without panels. false: no panels are left.
static bool more_panels(const struct cpu_backend *b, struct place *at) {
    while (at->matrix < b->p->n_matrices && at->panel == n_panels(&b->matrices[at->matrix]))
        at->matrix++, at->panel = 0;
    return at->matrix < b->p->n_matrices;
}

// The first row of a panel in the file. *rows: its number of rows, fewer in the last panel of a slice.
static const uint8_t *rows_of(const struct cpu_matrix *cm, size_t panel, size_t *rows) {
    const size_t per_slice = ceil_div(cm->m->n_out, PANEL_ROWS), row = panel % per_slice * PANEL_ROWS;
    *rows = cm->m->n_out - row < PANEL_ROWS ? cm->m->n_out - row : PANEL_ROWS;
    return cm->m->data + panel / per_slice * cm->m->slice_bytes + row * cm->m->row_bytes;
}
static void pack_panel(const struct cpu_matrix *cm, size_t panel) {
    size_t n;
    const uint8_t *rows = rows_of(cm, panel, &n);
    cm->ops->pack(rows, cm->m->row_bytes, (int)n, cm->m->k, cm->panels + panel * cm->panel_bytes);
}

// One round of packing: threads claim its pieces.
struct pack_piece {
    struct place at;
    size_t n;
};
struct pack_round {
    const struct cpu_backend *b;
    struct pack_piece pieces[MOST_PIECES];
    size_t n_pieces, n_bytes;
    atomic_size_t next;
};

// false: all panels are packed.
static bool plan_round(struct pack_round *r, struct place *at) {
    r->n_pieces = r->n_bytes = 0;
    while (r->n_bytes < ROUND_BYTES && r->n_pieces < MOST_PIECES && more_panels(r->b, at)) {
        struct pack_piece *piece = &r->pieces[r->n_pieces++];
        piece->at = *at;
        piece->n = take_panels(r->b, at, PIECE_BYTES);
        r->n_bytes += piece->n * r->b->matrices[at->matrix].panel_bytes;
    }
    atomic_store_explicit(&r->next, 0, memory_order_relaxed);
    return r->n_pieces > 0;
}

static void pack_thread(void *ctx, int i_thread, int n_threads) {
    (void)i_thread, (void)n_threads;
    struct pack_round *r = ctx;
    for (;;) {
        const size_t i = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
        if (i >= r->n_pieces) return;
        const struct pack_piece *piece = &r->pieces[i];
        const struct cpu_matrix *cm = &r->b->matrices[piece->at.matrix];
        for (size_t p = 0; p < piece->n; p++) pack_panel(cm, piece->at.panel + p);
    }
}

// Releases the file's pages that were read: of these weights only the panels stay in memory. An embedding that is also the head is
// still read from the file, a few rows at a time.
static void forget_rows(const struct pack_round *r) {
    for (size_t i = 0; i < r->n_pieces; i++) {
        const struct cpu_matrix *cm = &r->b->matrices[r->pieces[i].at.matrix];
        size_t n;
        const uint8_t *from = rows_of(cm, r->pieces[i].at.panel, &n);
        const uint8_t *last = rows_of(cm, r->pieces[i].at.panel + r->pieces[i].n - 1, &n);
        if (cm->m->file)
            file_map_forget(cm->m->file, (size_t)(from - cm->m->file->data),
                            (size_t)(last - from) + n * cm->m->row_bytes);
    }
}

rn_status cpu_weights_load(struct cpu_backend *b, backend_progress progress, void *user, rn_error *err) {
    if (b->weights_of) {
        assert(b->weights_of->p == b->p);
        b->matrices = b->weights_of->matrices;
        b->panels = b->weights_of->panels;
        b->panels_bytes = b->weights_of->panels_bytes;
        return RN_OK;
    }
    const rn_status st = lay_out(b, err);
    struct place at = {0};
    uint64_t done = 0;
    if (st != RN_OK || !b->panels) return st;
    struct pack_round *r = mem_alloc(sizeof *r);
    if (!r) return fail(err, RN_E_NOMEM, "backend cpu: out of memory for %d pieces of work", MOST_PIECES);
    r->b = b;
    bool stopped = false;
    while (!stopped && plan_round(r, &at)) {
        pool_run(b->threads, pack_thread, r);
        forget_rows(r);
        done += r->n_bytes;
        stopped = progress && progress(user, done, b->panels_bytes);
    }
    mem_free(r);
    if (!stopped) return RN_OK;
    return fail(err, RN_E_CANCELLED, "repacking: stopped after %llu of %zu bytes", (unsigned long long)done,
                b->panels_bytes);
}

void cpu_weights_free(struct cpu_backend *b) {
    if (b->weights_of) return;
    if (b->panels) mem_pages_free(b->panels, b->panels_bytes);
    mem_free(b->matrices);
}
