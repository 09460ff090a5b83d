// cli/bench_print.h - prints measured rows: as JSON, as a table, and as bars at a terminal.
//
// Threads: one at a time.
#ifndef RN_CLI_BENCH_PRINT_H
#define RN_CLI_BENCH_PRINT_H

#include "cli/bench_machine.h"
#include "cli/bench_row.h"

// An array with one object per row; docs/bench.md documents its members, whose names and meanings are stable.
void bench_print_json(const bench_row *rows, size_t n, const bench_machine *m, bytes *to);

// Everything below for people, adapted to stdout's width, colour and character set.
void bench_print_text(const bench_row *rows, size_t n, const bench_machine *m, bytes *to);

// A page (report/report_html.h).
void bench_print_html(const bench_row *rows, size_t n, const bench_machine *m, bytes *to);

// Columns whose value is the same default in all rows are left out.
void bench_print_table(const bench_row *rows, size_t n, bytes *to);

typedef struct bench_canvas {
    int width; // columns
    bool has_colour, has_utf8;
} bench_canvas;
// Appends a bar of that share, 0..1, of the width, and spaces up to it.
void bench_bar_add(bytes *to, double share, int width, const bench_canvas *on);
// One bar per figure, scaled to the largest rate of its kind. Fits the width from 40 columns on.
void bench_print_bars(const bench_row *rows, size_t n, const bench_canvas *on, bytes *to);

#endif
