// cli/chat/markdown_table.h - a table drawn within a width: columns as wide as their cells, the widest ones broken into lines where that is
// too wide.
//
// Ownership: {0} is empty; markdown_table_free(). Threads: one at a time.
#ifndef RN_CLI_MARKDOWN_TABLE_H
#define RN_CLI_MARKDOWN_TABLE_H

#include "cli/chat/styled_text.h"

enum { TABLE_MOST_COLUMNS = 128 };

typedef struct table_cell {
    styled_text text;
    int align; // 0 none, 1 left, 2 centre, 3 right, as md4c numbers them
} table_cell;

typedef struct markdown_table {
    table_cell *cells; // row by row, n_columns each; the first row is the header
    size_t n, n_room, n_columns;
    size_t n_in_row; // cells of the row that is read
} markdown_table;

// Takes the text of the next cell, and leaves an empty one. Cells beyond the header's are left out.
void markdown_table_take(markdown_table *t, styled_text *text, int align);
void markdown_table_end_row(markdown_table *t); // the first one says how many columns there are
// Appends the lines and empties the table. columns: how wide it may be; from: the column of the terminal where it begins, counted from 0.
void markdown_table_draw(markdown_table *t, bytes *to, int columns, int from, bool has_utf8);
void markdown_table_free(markdown_table *t);

#endif
