// cli/bench_table.c - rows as a table; columns without information are left out.
#include "app/say.h"
#include "app/wrap.h"
#include "cli/bench_print.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 64 };

static void cell_real(char *cell, double v, int n_digits) {
    if (isnan(v))
        snprintf(cell, CELL_BYTES, "-");
    else
        snprintf(cell, CELL_BYTES, "%.*f", n_digits, v);
}

static double or_nan(const bench_figure *f, double v) { return f->n_values ? v : NAN; }

static void cell_model(const bench_row *r, bench_kind k, char *cell) {
    (void)k;
    snprintf(cell, CELL_BYTES, "%.40s", bench_base_name(r->model));
}
static void cell_kv(const bench_row *r, bench_kind k, char *cell) {
    (void)k;
    snprintf(cell, CELL_BYTES, "%s", r->kv_type);
}
static void cell_threads(const bench_row *r, bench_kind k, char *cell) { (void)k, cell_real(cell, r->n_threads, 0); }
static void cell_depth(const bench_row *r, bench_kind k, char *cell) { (void)k, cell_real(cell, r->c.depth, 0); }
static void cell_batch(const bench_row *r, bench_kind k, char *cell) { (void)k, cell_real(cell, r->c.n_batch, 0); }
static void cell_tokens(const bench_row *r, bench_kind k, char *cell) { cell_real(cell, bench_row_tokens(r, k), 0); }
static void cell_rate(const bench_row *r, bench_kind k, char *cell) {
    cell_real(cell, or_nan(&r->figures[k], r->figures[k].median), 1);
}
static void cell_spread(const bench_row *r, bench_kind k, char *cell) {
    cell_real(cell, or_nan(&r->figures[k], 100 * r->figures[k].spread), 0);
}
static void cell_first(const bench_row *r, bench_kind k, char *cell) {
    cell_real(cell, or_nan(&r->figures[k], r->figures[k].first_ms), 1);
}
static void cell_each(const bench_row *r, bench_kind k, char *cell) {
    cell_real(cell, r->c.n_batch > 1 ? or_nan(&r->figures[k], r->figures[k].median / r->c.n_batch) : NAN, 1);
}
static void cell_ratio(const bench_row *r, bench_kind k, char *cell) {
    (void)k;
    cell_real(cell, r->c.n_batch > 1 && r->batch_ratio > 0 ? r->batch_ratio : NAN, 2);
}
static void cell_read(const bench_row *r, bench_kind k, char *cell) {
    cell_real(cell, or_nan(&r->figures[k], r->figures[k].read_bytes_s / 1e9), 2);
}
static void cell_share(const bench_row *r, bench_kind k, char *cell) {
    const bench_share s = bench_row_share(r, k);
    if (isnan(s.read))
        snprintf(cell, CELL_BYTES, "-");
    else
        snprintf(cell, CELL_BYTES, "%.0f%% %s", 100 * (bench_share_is_read(s) ? s.read : s.int8),
                 bench_share_is_read(s) ? "read" : "int8");
}
static void cell_old(const bench_row *r, bench_kind k, char *cell) {
    const char *verdict = bench_row_verdict(r, k);
    if (!verdict)
        snprintf(cell, CELL_BYTES, "-");
    else
        snprintf(cell, CELL_BYTES, "%.3f %s", r->figures[k].median / r->old[k], verdict);
}
static void cell_peak(const bench_row *r, bench_kind k, char *cell) { (void)k, cell_real(cell, r->peak_mb, 0); }

typedef struct column {
    const char *head;
    bench_kind kind;
    void (*cell)(const bench_row *row, bench_kind kind, char *cell);
    // The column is left out if all rows have this text; "": if all rows have the same text; NULL: never.
    const char *silent;
} column;
static const column columns[] = {
    {"model", BENCH_PROMPT, cell_model, ""},         {"kv", BENCH_PROMPT, cell_kv, ""},
    {"threads", BENCH_PROMPT, cell_threads, NULL},   {"depth", BENCH_PROMPT, cell_depth, "0"},
    {"prompt", BENCH_PROMPT, cell_tokens, "0"},      {"tok/s", BENCH_PROMPT, cell_rate, "-"},
    {"+-%", BENCH_PROMPT, cell_spread, "-"},         {"of limit", BENCH_PROMPT, cell_share, "-"},
    {"vs old", BENCH_PROMPT, cell_old, "-"},         {"first ms", BENCH_PROMPT, cell_first, "-"},
    {"gen", BENCH_GENERATION, cell_tokens, "0"},     {"batch", BENCH_GENERATION, cell_batch, "1"},
    {"tok/s", BENCH_GENERATION, cell_rate, "-"},     {"+-%", BENCH_GENERATION, cell_spread, "-"},
    {"each", BENCH_GENERATION, cell_each, "-"},      {"x batch 1", BENCH_GENERATION, cell_ratio, "-"},
    {"read GB/s", BENCH_GENERATION, cell_read, "-"}, {"of limit", BENCH_GENERATION, cell_share, "-"},
    {"vs old", BENCH_GENERATION, cell_old, "-"},     {"peak MB", BENCH_GENERATION, cell_peak, NULL},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static bool is_silent(const column *c, const bench_row *rows, size_t n) {
    char first[CELL_BYTES], cell[CELL_BYTES];
    if (!c->silent) return false;
    c->cell(&rows[0], c->kind, first);
    for (size_t i = 0; i < n; i++) {
        c->cell(&rows[i], c->kind, cell);
        if (strcmp(cell, *c->silent ? c->silent : first) != 0) return false;
    }
    return true;
}

void bench_print_table(const bench_row *rows, size_t n, bytes *to) {
    const column *shown[N_COLUMNS];
    size_t n_columns = 0;
    for (size_t c = 0; c < N_COLUMNS && n; c++)
        if (!is_silent(&columns[c], rows, n)) shown[n_columns++] = &columns[c];
    const char **cells = app_alloc((n + 1) * n_columns * sizeof *cells);
    char *text = app_alloc((n + 1) * n_columns * CELL_BYTES);
    for (size_t i = 0; i < (n + 1) * n_columns; i++) {
        const column *c = shown[i % n_columns];
        char *const cell = text + i * CELL_BYTES;
        cells[i] = i < n_columns ? c->head : cell;
        if (i >= n_columns) c->cell(&rows[i / n_columns - 1], c->kind, cell);
    }
    if (n) table_add(to, cells, n + 1, n_columns);
    free(text);
    free(cells);
}
