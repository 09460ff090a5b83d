// cli/chat/markdown_table.c - see markdown_table.h.
#include "cli/chat/markdown_table.h"
#include "app/memory.h"
#include "app/term.h"
#include <stdlib.h>

enum { LEAST_WIDTH = 3, N_BETWEEN = 3 };

void markdown_table_take(markdown_table *t, styled_text *text, int align) {
    if (t->n_in_row < (t->n_columns ? t->n_columns : TABLE_MOST_COLUMNS)) {
        if (t->n == t->n_room) {
            t->n_room = t->n_room ? 2 * t->n_room : 32;
            t->cells = app_realloc(t->cells, t->n_room * sizeof *t->cells);
        }
        t->cells[t->n++] = (table_cell){*text, align};
        t->n_in_row++;
        *text = (styled_text){0};
    }
    text->text.n = text->styles.n = 0;
}

void markdown_table_end_row(markdown_table *t) {
    styled_text none = {0};
    if (!t->n_columns) t->n_columns = t->n;
    while (t->n_in_row < t->n_columns) markdown_table_take(t, &none, 0);
    t->n_in_row = 0;
}

static void fit(const markdown_table *t, int *widths, int columns) {
    int sum = (int)(t->n_columns - 1) * N_BETWEEN;
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = 1;
        for (size_t i = c; i < t->n; i += t->n_columns) {
            const int width = styled_columns(&t->cells[i].text);
            if (width > widths[c]) widths[c] = width;
        }
        sum += widths[c];
    }
    while (sum > columns) { // the widest one gives a column
        size_t widest = 0;
        for (size_t c = 1; c < t->n_columns; c++)
            if (widths[c] > widths[widest]) widest = c;
        if (widths[widest] <= LEAST_WIDTH) return;
        widths[widest]--, sum--;
    }
}

// Has the text characters about whose columns terminals differ? All but ASCII and Latin letters.
static bool is_plain(const styled_text *t) {
    for (size_t i = 0; i < t->text.n; i++)
        if ((unsigned char)t->text.data[i] >= 0xcc) return false;
    return true;
}

static void add_rule(const markdown_table *t, const int *widths, bytes *to, bool has_utf8) {
    bytes_add_text(to, "\x1b[2m");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (c) bytes_add_text(to, has_utf8 ? "\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80" : "-+-");
        for (int i = 0; i < widths[c]; i++) bytes_add_text(to, has_utf8 ? "\xe2\x94\x80" : "-");
    }
    bytes_add_text(to, "\x1b[0m\n");
}

// Appends a row of cells: as many lines as the highest of them has.
static void add_row(const markdown_table *t, size_t row, const int *widths, int from, bool has_utf8, bytes *to) {
    size_t at[TABLE_MOST_COLUMNS] = {0};
    bool is_plain_row = true;
    for (size_t c = 0; c < t->n_columns; c++) is_plain_row &= is_plain(&t->cells[row * t->n_columns + c].text);
    for (bool is_first = true;; is_first = false) {
        bool goes_on = is_first;
        for (size_t c = 0; c < t->n_columns; c++) goes_on |= at[c] < t->cells[row * t->n_columns + c].text.text.n;
        if (!goes_on) return;
        int column = from;
        for (size_t c = 0; c < t->n_columns; c++) {
            const table_cell *const cell = &t->cells[row * t->n_columns + c];
            const bool is_last = c + 1 == t->n_columns;
            text_line line = {0};
            styled_line(&cell->text, &at[c], widths[c], &line);
            const int spare = widths[c] - line.columns, left = cell->align == 3   ? spare
                                                               : cell->align == 2 ? spare / 2
                                                                                  : 0;
            bytes_add_format(to, "%*s", left > 0 ? left : 0, "");
            styled_write(&cell->text, &line, to);
            column += widths[c];
            if (is_last) break;
            if (spare > left) bytes_add_format(to, "%*s", spare - left, "");
            // Where a terminal may count other columns, the next cell is put where it belongs.
            if (!is_plain_row) bytes_add_format(to, "\x1b[K\x1b[%dG", column + 1);
            bytes_add_format(to, " \x1b[2m%s\x1b[0m ", has_utf8 ? "\xe2\x94\x82" : "|");
            column += N_BETWEEN;
        }
        bytes_add_text(to, "\n");
    }
}

void markdown_table_draw(markdown_table *t, bytes *to, int columns, int from, bool has_utf8) {
    int widths[TABLE_MOST_COLUMNS];
    if (t->n_columns) {
        fit(t, widths, columns);
        for (size_t row = 0; row < t->n / t->n_columns; row++) {
            add_row(t, row, widths, from, has_utf8, to);
            if (row == 0) add_rule(t, widths, to, has_utf8);
        }
    }
    for (size_t i = 0; i < t->n; i++) styled_text_free(&t->cells[i].text);
    t->n = t->n_columns = 0;
}

void markdown_table_free(markdown_table *t) {
    for (size_t i = 0; i < t->n; i++) styled_text_free(&t->cells[i].text);
    free(t->cells);
    *t = (markdown_table){0};
}
