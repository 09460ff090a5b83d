// cli/bench_sums.c - sums a profile's ops; prints them as tables and as JSON.
#include "cli/bench_sums.h"
#include "app/say.h"
#include "app/wrap.h"
#include "cli/bench_print.h"
#include <stdlib.h>
#include <string.h>

// Names an op independently of its layer: "linear" and "blk.3.ffn_down.weight" give "linear ffn_down".
static void name_of(const rn_profile_op *o, char *name, size_t size) {
    const char *part = o->matrix ? o->matrix : "";
    if (strncmp(part, "blk.", 4) == 0) part += 4 + strspn(part + 4, "0123456789") + 1;
    const char *end = strrchr(part, '.');
    const int n = end ? (int)(end - part) : (int)strlen(part);
    snprintf(name, size, "%s%s%.*s", o->kind, n ? " " : "", n, part);
}

static bench_sum *find(bench_sum *sums, size_t *n, const char *name, int32_t layer) {
    for (size_t i = 0; i < *n; i++)
        if (sums[i].layer == layer && strcmp(sums[i].name, name) == 0) return &sums[i];
    bench_sum *s = &sums[(*n)++];
    *s = (bench_sum){.layer = layer};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void add(bench_sum *s, const rn_profile_op *o) {
    s->calls += o->calls;
    s->ns += o->ns;
    s->wait_ns += o->wait_ns;
    s->bytes += o->bytes;
    s->products += o->products;
}

void bench_sums_make(bench_sums *s, const rn_profile *p) {
    *s = (bench_sums){.n_steps = p->n_steps, .n_rows = p->n_rows, .ns = p->ns};
    s->kinds = app_alloc(p->n_ops * sizeof *s->kinds);
    s->layers = app_alloc(p->n_ops * sizeof *s->layers);
    for (size_t i = 0; i < p->n_ops; i++) {
        char name[sizeof s->kinds->name];
        name_of(p->ops[i], name, sizeof name);
        add(find(s->kinds, &s->n_kinds, name, -1), p->ops[i]);
        add(find(s->layers, &s->n_layers, "", p->ops[i]->layer), p->ops[i]);
    }
}

void bench_sums_free(bench_sums *s) {
    free(s->kinds);
    free(s->layers);
    *s = (bench_sums){0};
}

static int by_time(const void *a, const void *b) {
    const bench_sum *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

enum { COLUMNS = 6, NARROW = 3, LEAST_BAR = 8, MOST_BAR = 40 };

static void fill_cells(const bench_sum *s, const bench_sums *all, char *cells) {
    const double us = (double)s->ns / 1e3 / (double)all->n_steps;
    const double wait = (double)s->wait_ns / 1e3 / (double)all->n_steps;
    if (*s->name)
        snprintf(cells, HUMAN_BYTES, "%.*s", HUMAN_BYTES - 1, s->name);
    else if (s->layer < 0)
        snprintf(cells, HUMAN_BYTES, "outside");
    else
        snprintf(cells, HUMAN_BYTES, "%d", s->layer);
    snprintf(cells + HUMAN_BYTES, HUMAN_BYTES, "%.1f", us);
    snprintf(cells + 2 * HUMAN_BYTES, HUMAN_BYTES, "%.1f %%", 100.0 * (double)s->ns / (double)all->ns);
    snprintf(cells + 3 * HUMAN_BYTES, HUMAN_BYTES, "%.1f", wait);
    snprintf(cells + 4 * HUMAN_BYTES, HUMAN_BYTES, "%.3f", (double)s->bytes / 1e6 / (double)all->n_steps);
    snprintf(cells + 5 * HUMAN_BYTES, HUMAN_BYTES, "%.2f", s->ns ? (double)s->bytes / (double)s->ns : 0.0);
}

// Puts a bar behind each row of a table: the row's time beside that of the longest.
static void add_bars(const bytes *table, const bench_sum *sums, size_t n, const bench_canvas *on, bytes *to) {
    const int n_line = (int)strcspn(table->data, "\n"), room = on->width - n_line - 3;
    uint64_t longest = 1;
    for (size_t i = 0; i < n; i++)
        if (sums[i].ns > longest) longest = sums[i].ns;
    const char *line = table->data;
    for (size_t i = 0; *line; i++) {
        const int n_this = (int)strcspn(line, "\n");
        bytes_add(to, line, (size_t)n_this);
        if (i && i <= n && room >= LEAST_BAR) {
            bytes_add_format(to, "%*s", n_line - n_this + 2, "");
            if (on->has_colour) bytes_add_text(to, "\x1b[36m");
            bench_bar_add(to, (double)sums[i - 1].ns / (double)longest, room < MOST_BAR ? room : MOST_BAR, on);
            if (on->has_colour) bytes_add_text(to, "\x1b[0m");
        }
        bytes_add_text(to, "\n");
        line += n_this + (line[n_this] != '\0');
    }
}

// Prints only the first NARROW columns if the terminal is narrow.
static void print_sums(const bench_sum *sums, size_t n, const char *first, const bench_sums *all,
                       const bench_canvas *on, bool has_bars, bytes *to) {
    const char *const heads[COLUMNS] = {first, "us", "share", "wait us", "MB", "GB/s"};
    const size_t n_columns = on->width < 70 ? NARROW : COLUMNS;
    char *text = app_alloc(n * COLUMNS * HUMAN_BYTES);
    const char **cells = app_alloc((n + 1) * n_columns * sizeof *cells);
    memcpy(cells, heads, n_columns * sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        fill_cells(&sums[i], all, text + i * COLUMNS * HUMAN_BYTES);
        for (size_t c = 0; c < n_columns; c++)
            cells[(i + 1) * n_columns + c] = text + (i * COLUMNS + c) * HUMAN_BYTES;
    }
    bytes table = {0};
    table_add(&table, cells, n + 1, n_columns);
    if (has_bars)
        add_bars(&table, sums, n, on, to);
    else
        bytes_add(to, table.data, table.n);
    bytes_free(&table);
    free(cells);
    free(text);
}

void bench_sums_print(const bench_sums *s, const bench_canvas *on, bool has_bars, bytes *to) {
    bench_sum *sorted = app_alloc(s->n_kinds * sizeof *sorted);
    memcpy(sorted, s->kinds, s->n_kinds * sizeof *sorted);
    qsort(sorted, s->n_kinds, sizeof *sorted, by_time);
    print_sums(sorted, s->n_kinds, "a step's", s, on, has_bars, to);
    bytes_add_text(to, "\n");
    print_sums(s->layers, s->n_layers, "layer", s, on, has_bars, to);
    free(sorted);
}

static void put_sum(const bench_sum *s, json_writer *w) {
    json_put_begin(w, '{');
    json_put_key(w, *s->name ? "op" : "layer");
    if (*s->name)
        json_put_string(w, s->name);
    else if (s->layer < 0)
        json_put_null(w);
    else
        json_put_whole(w, s->layer);
    json_member_u64(w, "calls", s->calls);
    json_member_u64(w, "ns", s->ns);
    json_member_u64(w, "wait_ns", s->wait_ns);
    json_member_u64(w, "bytes", s->bytes);
    json_member_u64(w, "products", s->products);
    json_put_end(w, '}');
}

static void put_list(json_writer *w, const char *name, const bench_sum *sums, size_t n) {
    json_member_begin(w, name, '[');
    for (size_t i = 0; i < n; i++) put_sum(&sums[i], w);
    json_put_end(w, ']');
}

void bench_sums_put(const bench_sums *s, json_writer *w) {
    json_put_begin(w, '{');
    json_member_u64(w, "steps", s->n_steps);
    json_member_u64(w, "rows", s->n_rows);
    json_member_u64(w, "ns", s->ns);
    put_list(w, "ops", s->kinds, s->n_kinds);
    put_list(w, "layers", s->layers, s->n_layers);
    json_put_end(w, '}');
}
