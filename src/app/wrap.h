// app/wrap.h - text for people: wrapped paragraphs, tables, sizes and times in words.
//
// Threads: any.
#ifndef RN_APP_WRAP_H
#define RN_APP_WRAP_H

#include "app/bytes.h"
#include <stdint.h>
#include <stdio.h>

// Appends or prints text, broken between words so that no line exceeds `width` columns. The first line starts at column
// `indent` already; later lines are indented to it. Ends with a line break.
void add_wrapped(bytes *to, const char *text, int indent, int width);
void print_wrapped(const char *text, int indent, int width, FILE *to);

// Appends a table: cells row by row, n_columns each. Columns are as wide as their widest cell and two spaces apart; a column whose
// cells below the header begin with a digit, or are `-`, is right-aligned.
void table_add(bytes *to, const char *const *cells, size_t n_rows, size_t n_columns);

// "5.9 MiB", "512 bytes": powers of 1024, as memory is counted and the engine's plan is written. In `text`, which has HUMAN_BYTES bytes.
#define HUMAN_BYTES 32
const char *human_size(uint64_t n_bytes, char *text);
// "1,234,567".
const char *human_count(uint64_t n, char *text);
// "0.8 s", "12 ms", "3 min 20 s".
const char *human_time(double milliseconds, char *text);

#endif
