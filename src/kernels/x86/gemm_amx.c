// kernels/x86/gemm_amx.c - walks through a product of many rows.
#include "kernels/x86/gemm_amx.h"
#include "base/checked.h"
#include <string.h>

static const size_t ACC_BYTES = sizeof(float) * PASS_ROWS * COLUMNS; // of one pair of panels

size_t gemm_scratch_bytes(const struct gemm_kind *t, size_t k) {
    return 2 * t->columns_bytes + t->sums_bytes + BLOCK_PAIRS * ACC_BYTES + (t->side_bytes ? t->side_bytes(k) : 0) +
           TILE_ROWS * act_bytes(t->act, k);
}

static void start_pass(const struct gemm_kind *t, struct gemm_pass *p, uint8_t *last) {
    const size_t whole = p->n_rows / TILE_ROWS * TILE_ROWS;
    p->n_units = ceil_div(p->n_rows, TILE_ROWS);
    p->last = last;
    p->last_stride = act_bytes(t->act, p->k);
    if (whole < p->n_rows) memset(last, 0, TILE_ROWS * p->last_stride);
    for (size_t r = whole; r < p->n_rows; r++)
        memcpy(last + (r - whole) * p->last_stride, p->x + r * p->stride, p->last_stride);
    if (t->start) t->start(p);
}

// What did not go to the output directly: rows from `row` on, n columns.
static void copy_out(const struct gemm_pass *p, size_t row, const float *acc, size_t n, float *out,
                     size_t out_stride) {
    for (size_t r = row; r < p->n_rows; r++) memcpy(out + r * out_stride, acc + r * COLUMNS, n * sizeof *out);
}

// A block of panels, and its walk: step i is chunk i / n_pairs of pair i % n_pairs.
struct block {
    const uint8_t *w; // of its first pair
    size_t panel_bytes, n_out, n_pairs, chunk, n_chunks;
    uint8_t *columns[2]; // of even and odd steps
    void *sums;
    uint8_t *acc;
};

static size_t chunk_at(const struct block *b, size_t k, size_t from) {
    return k - from < b->chunk ? k - from : b->chunk;
}

static void unpack_step(const struct gemm_kind *t, const struct block *b, size_t k, size_t i) {
    const size_t pair = i % b->n_pairs;
    const uint8_t *const panel = b->w + 2 * pair * b->panel_bytes;
    const bool one = COLUMNS * pair + PANEL_ROWS >= b->n_out; // the second is not there: nobody reads its sums
    const uint8_t *const panels[2] = {panel, one ? panel : panel + b->panel_bytes};
    const size_t from = i / b->n_pairs * b->chunk;
    t->unpack(panels, k, from, chunk_at(b, k, from), b->columns[i % 2]);
}

static void multiply_step(const struct gemm_kind *t, const struct block *b, const struct gemm_pass *p, size_t i,
                          float *out, size_t out_stride) {
    const size_t pair = i % b->n_pairs, from = i / b->n_pairs * b->chunk, o = COLUMNS * pair;
    const size_t n = b->n_out - o < COLUMNS ? b->n_out - o : COLUMNS;
    float *const acc = (float *)(void *)(b->acc + pair * ACC_BYTES);
    t->multiply(p, from, chunk_at(b, p->k, from), b->columns[i % 2], b->sums, acc, n == COLUMNS ? out + o : NULL,
                out_stride);
    if (from + b->chunk >= p->k)
        copy_out(p, n == COLUMNS ? p->n_rows / TILE_ROWS * TILE_ROWS : 0, acc, n, out + o, out_stride);
}

static void multiply_rows(const struct gemm_kind *t, struct block b, const struct gemm_pass *p, const uint8_t *w,
                          size_t n_out, float *out, size_t out_stride) {
    for (size_t o = 0; o < n_out; o += BLOCK_PAIRS * COLUMNS) {
        b.w = w + o / PANEL_ROWS * b.panel_bytes;
        b.n_out = n_out - o < BLOCK_PAIRS * COLUMNS ? n_out - o : BLOCK_PAIRS * COLUMNS;
        b.n_pairs = ceil_div(b.n_out, COLUMNS);
        const size_t n_steps = b.n_pairs * b.n_chunks;
        unpack_step(t, &b, p->k, 0);
        for (size_t i = 0; i < n_steps; i++) {
            if (i + 1 < n_steps) unpack_step(t, &b, p->k, i + 1);
            multiply_step(t, &b, p, i, out + o, out_stride);
        }
    }
}

void gemm_run(const struct gemm_kind *t, const uint8_t *w, size_t panel_bytes, size_t n_out, size_t k, const void *x,
              size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch) {
    if (k == 0) {
        for (size_t r = 0; r < n_rows; r++) memset(out + r * out_stride, 0, n_out * sizeof *out);
        return;
    }
    uint8_t *at = scratch;
    struct block b = {.panel_bytes = panel_bytes};
    b.chunk = round_up(ceil_div(k, ceil_div(k, t->most_chunk)), t->chunk_step);
    b.n_chunks = ceil_div(k, b.chunk);
    b.columns[0] = at;
    b.columns[1] = at += t->columns_bytes;
    b.sums = at += t->columns_bytes;
    b.acc = at += t->sums_bytes;
    struct gemm_pass p = {.k = k, .stride = act_stride};
    p.side = at += BLOCK_PAIRS * ACC_BYTES;
    if (t->side_bytes) at += t->side_bytes(k);
    tiles_configure(&t->tiles);
    for (size_t r = 0; r < n_rows; r += PASS_ROWS) {
        p.x = (const uint8_t *)x + r * act_stride;
        p.n_rows = n_rows - r < PASS_ROWS ? n_rows - r : PASS_ROWS;
        start_pass(t, &p, at);
        multiply_rows(t, b, &p, w, n_out, out + r * out_stride, out_stride);
    }
    tiles_release();
}
