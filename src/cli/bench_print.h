// cli/bench_print.h - measured rows for programs and for people: JSON, a table, and bars at a terminal.
//
// Threads: one at a time.
#ifndef RN_CLI_BENCH_PRINT_H
#define RN_CLI_BENCH_PRINT_H

#include "cli/bench_machine.h"
#include "cli/bench_row.h"

// An array with an object for each row; its members are in docs/bench.md and keep their names and meanings.
void bench_print_json(const bench_row *rows, size_t n, const bench_machine *m, bytes *to);

// For people: all of what follows, as it suits the place that stdout is.
void bench_print_text(const bench_row *rows, size_t n, const bench_machine *m, bytes *to);

// Columns in which all rows say the same little are left out.
void bench_print_table(const bench_row *rows, size_t n, bytes *to);

typedef struct bench_canvas {
    int width; // columns
    bool has_colour, has_utf8;
} bench_canvas;
// A bar for each figure, as long as its rate beside the largest of its kind. Fits the width, from 40 columns on.
void bench_print_bars(const bench_row *rows, size_t n, const bench_canvas *on, bytes *to);

#endif
