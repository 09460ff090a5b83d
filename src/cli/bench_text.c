// cli/bench_text.c - the report as text: the machine, a table, bars if stdout is a terminal, and where the time went.
#include "app/term.h"
#include "app/wrap.h"
#include "cli/bench_print.h"
#include "cli/memory_print.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static void add_profiles(const bench_row *rows, size_t n, const bench_canvas *on, bool is_drawn, bytes *to) {
    for (const bench_row *r = rows; r < rows + n; r++)
        for (bench_kind k = 0; k < BENCH_N_KINDS; k++) {
            const bench_sums *s = &r->sums[k];
            char label[BENCH_LABEL_BYTES];
            if (!s->n_steps) continue;
            bench_row_label(r, k, label);
            bytes_add_format(to, "\n%s, %d thread%s: %llu step%s of %.1f us\n", label, r->n_threads,
                             r->n_threads == 1 ? "" : "s", (unsigned long long)s->n_steps, s->n_steps == 1 ? "" : "s",
                             (double)s->ns / 1e3 / (double)s->n_steps);
            bench_sums_print(s, on, is_drawn, to);
        }
}

// Describes the machine and the limits that each engine measured, wrapped at the terminal's width.
static void add_head(const bench_row *rows, size_t n, const bench_machine *m, int width, bytes *to) {
    bytes line = {0};
    bench_machine_print(m, &line);
    add_wrapped(to, line.data, 0, width);
    for (size_t i = 0; i < n; i++) {
        line.n = 0;
        if (bench_row_add_limits(rows, i, &line)) add_wrapped(to, line.data, 0, width);
    }
    bytes_free(&line);
}

// Adds the memory of the last engine after its last run.
static void add_memory(const rn_memory *m, int width, bytes *to) {
    bytes line = {0};
    memory_add_sentence(&line, m);
    bytes_add_text(to, "\n");
    add_wrapped(to, line.data, 0, width);
    bytes_free(&line);
}

// Does the table fit the terminal's width? Otherwise only the bars are shown.
static bool fits(const bytes *table, int width) {
    size_t longest = 0, n;
    for (const char *line = table->data; line && *line; line += n + (line[n] != '\0')) {
        n = strcspn(line, "\n");
        if (n > longest) longest = n;
    }
    return longest <= (size_t)width;
}

void bench_print_text(const bench_row *rows, size_t n, const bench_machine *m, bytes *to) {
    const bool is_drawn = term_can_draw(STDOUT_FILENO);
    const int width = term_is(STDOUT_FILENO) ? term_width(STDOUT_FILENO) : INT_MAX;
    const bench_canvas canvas = {width, term_colour(STDOUT_FILENO), term_utf8()};
    bytes table = {0};
    add_head(rows, n, m, width, to);
    bytes_add_text(to, "\n");
    bench_print_table(rows, n, &table);
    const bool has_table = !is_drawn || fits(&table, width);
    if (has_table) bytes_add(to, table.data, table.n);
    if (has_table && is_drawn) bytes_add_text(to, "\n");
    if (is_drawn) bench_print_bars(rows, n, &canvas, to);
    add_profiles(rows, n, &canvas, is_drawn, to);
    if (n) add_memory(&rows[n - 1].memory, width, to);
    bytes_free(&table);
}
