// kernels/x86/gemm_amx.c - the loop nest of a product of many rows.
#include "kernels/x86/gemm_amx.h"
#include "base/checked.h"
#include <string.h>

static const size_t ACC_BYTES = sizeof(float) * PASS_ROWS * BLOCK_COLUMNS;

size_t gemm_scratch_bytes(const struct gemm_kind *t, size_t k) {
    return (t->is_ahead ? 2 : 1) * t->columns_bytes + t->sums_bytes + ACC_BYTES +
           (t->side_bytes ? t->side_bytes(k) : 0) + TILE_ROWS * act_bytes(t->act, k);
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

// Sums that did not go to the output directly: n_left columns from the step's first on.
static void copy_out(const struct gemm_pass *p, const struct gemm_step *s, size_t n_left) {
    const size_t n = n_left < p->n_columns ? n_left : p->n_columns;
    for (size_t r = s->is_whole ? p->n_rows / TILE_ROWS * TILE_ROWS : 0; r < p->n_rows; r++)
        memcpy(s->out + r * s->out_stride, s->acc + r * p->n_columns, n * sizeof *s->out);
}

// A block of columns, and its walk: step i is chunk i / n_places of place i % n_places, as many columns as a step has.
struct block {
    const uint8_t *w; // of its first panel
    size_t panel_bytes, n_panels, n_out, n_places, chunk, n_chunks;
    uint8_t *columns[2]; // of even and odd steps
    bool is_ahead;
    void *sums;
    float *acc;
    float *out;
    size_t out_stride;
};

static struct gemm_step step_at(const struct block *b, const struct gemm_pass *p, size_t i) {
    const size_t place = i % b->n_places, o = place * p->n_columns, from = i / b->n_places * b->chunk;
    const uint8_t *const panel = b->w + place * b->n_panels * b->panel_bytes;
    const bool one =
        b->n_panels == 1 || o + PANEL_ROWS >= b->n_out; // there is no second panel: its sums are not read
    return (struct gemm_step){.panels = {panel, one ? panel : panel + b->panel_bytes},
                              .from = from,
                              .n = p->k - from < b->chunk ? p->k - from : b->chunk,
                              .columns = b->columns[i % 2],
                              .is_unpacked = b->is_ahead && i > 0,
                              .acc = b->acc + place * p->n_units * TILE_ROWS * p->n_columns,
                              .out = b->out + o,
                              .is_whole = o + p->n_columns <= b->n_out,
                              .out_stride = b->out_stride};
}

static void multiply_block(const struct gemm_kind *t, const struct block *b, const struct gemm_pass *p) {
    const size_t n_steps = b->n_places * b->n_chunks;
    struct gemm_step now = step_at(b, p, 0), next = now;
    for (size_t i = 0; i < n_steps; i++, now = next) {
        if (i + 1 < n_steps) next = step_at(b, p, i + 1);
        t->multiply(p, &now, i + 1 < n_steps ? &next : NULL, b->sums);
        if (now.from + now.n == p->k) copy_out(p, &now, b->n_out - i % b->n_places * p->n_columns);
    }
}

static void multiply_rows(const struct gemm_kind *t, struct block b, const struct gemm_pass *p, const uint8_t *w,
                          size_t n_out, float *out) {
    for (size_t o = 0; o < n_out; o += BLOCK_COLUMNS) {
        b.w = w + o / PANEL_ROWS * b.panel_bytes;
        b.n_out = n_out - o < BLOCK_COLUMNS ? n_out - o : BLOCK_COLUMNS;
        b.n_places = ceil_div(b.n_out, p->n_columns);
        b.out = out + o;
        multiply_block(t, &b, p);
    }
}

void gemm_run(const struct gemm_kind *t, const uint8_t *w, size_t panel_bytes, size_t n_out, size_t k, const void *x,
              size_t act_stride, size_t n_rows, float *out, size_t out_stride, void *scratch) {
    if (k == 0) {
        for (size_t r = 0; r < n_rows; r++) memset(out + r * out_stride, 0, n_out * sizeof *out);
        return;
    }
    uint8_t *at = scratch;
    struct block b = {.panel_bytes = panel_bytes, .n_panels = t->n_panels, .out_stride = out_stride};
    b.chunk = round_up(ceil_div(k, ceil_div(k, t->most_chunk)), t->chunk_step);
    b.n_chunks = ceil_div(k, b.chunk);
    b.columns[0] = at;
    b.columns[1] = t->is_ahead ? at + t->columns_bytes : at;
    b.is_ahead = t->is_ahead;
    b.sums = at += (t->is_ahead ? 2 : 1) * t->columns_bytes;
    b.acc = (void *)(at += t->sums_bytes);
    struct gemm_pass p = {.k = k, .stride = act_stride, .n_columns = t->n_panels * PANEL_ROWS};
    p.side = at += ACC_BYTES;
    if (t->side_bytes) at += t->side_bytes(k);
    tiles_configure(&t->tiles);
    for (size_t r = 0; r < n_rows; r += PASS_ROWS) {
        p.x = (const uint8_t *)x + r * act_stride;
        p.n_rows = n_rows - r < PASS_ROWS ? n_rows - r : PASS_ROWS;
        start_pass(t, &p, at);
        multiply_rows(t, b, &p, w, n_out, out + r * out_stride);
    }
    tiles_release();
}
