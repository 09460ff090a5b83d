// cli/bench_row.c - see bench_row.h.
#include "cli/bench_row.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_row_free(bench_row *row) {
    free(row->model);
    free(row->architecture);
    free(row->type);
    for (int k = 0; k < BENCH_N_KINDS; k++) bench_sums_free(&row->sums[k]);
}

const char *bench_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

int32_t bench_row_tokens(const bench_row *row, bench_kind kind) {
    return kind == BENCH_PROMPT ? row->c.n_prompt : row->c.n_gen;
}

void bench_row_label(const bench_row *row, bench_kind kind, char *label) {
    char depth[24] = "", batch[24] = "";
    if (row->c.depth) snprintf(depth, sizeof depth, " @%d", row->c.depth);
    if (kind == BENCH_GENERATION && row->c.n_batch > 1) snprintf(batch, sizeof batch, " x%d", row->c.n_batch);
    snprintf(label, BENCH_LABEL_BYTES, "%s %d%s%s", kind == BENCH_PROMPT ? "prompt" : "generate",
             bench_row_tokens(row, kind), batch, depth);
}

bench_share bench_row_share(const bench_row *row, bench_kind kind) {
    const bench_figure *f = &row->figures[kind];
    if (!row->limits.struct_size || !f->n_values) return (bench_share){NAN, NAN};
    return (bench_share){f->read_bytes_s / row->limits.read_bytes_s,
                         f->int8_products_s / row->limits.int8_products_s};
}

bool bench_row_add_limits(const bench_row *rows, size_t i, bytes *to) {
    const bench_row *const r = &rows[i];
    const rn_limits *const l = &r->limits;
    if (!l->struct_size || (i > 0 && l->read_bytes_s == r[-1].limits.read_bytes_s)) return false;
    bytes_add_format(to, "%d thread%s: memory read at %.2f GB/s, int8 products at %.3f TOPS (%s)", r->n_threads,
                     r->n_threads == 1 ? "" : "s", l->read_bytes_s / 1e9, 2 * l->int8_products_s / 1e12, r->cpu);
    return true;
}

bool bench_share_is_read(bench_share s) { return s.read >= s.int8; }

const char *bench_row_verdict(const bench_row *row, bench_kind kind) {
    if (!(row->old[kind] > 0) || !row->figures[kind].n_values) return NULL;
    const double ratio = row->figures[kind].median / row->old[kind];
    return ratio > 1 + BENCH_CHANGE ? "faster" : ratio < 1 - BENCH_CHANGE ? "slower" : "same";
}
