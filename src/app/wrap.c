// app/wrap.c - wraps text, prints tables and formats sizes for people.
#include "app/wrap.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

void add_wrapped(bytes *to, const char *text, int indent, int width) {
    int column = indent;
    bool is_first = true;
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (!is_first && column + 1 + n > width) {
            bytes_add_format(to, "\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            bytes_add_text(to, " ");
            column++;
        }
        bytes_add(to, text, (size_t)n);
        column += n;
        is_first = false;
        text += n;
        text += strspn(text, " ");
    }
    bytes_add_text(to, "\n");
}

void print_wrapped(const char *text, int indent, int width, FILE *to) {
    bytes lines = {0};
    add_wrapped(&lines, text, indent, width);
    fwrite(lines.data, 1, lines.n, to);
    bytes_free(&lines);
}

// Does the column hold only numbers, or `-` for missing ones, below its head?
static bool is_figure(const char *const *cells, size_t n_rows, size_t n_columns, size_t column) {
    bool has_digit = false;
    for (size_t r = 1; r < n_rows; r++) {
        const char *cell = cells[r * n_columns + column];
        if (!isdigit((unsigned char)cell[0]) && strcmp(cell, "-") != 0) return false;
        has_digit |= cell[0] != '-';
    }
    return has_digit;
}

void table_add(bytes *to, const char *const *cells, size_t n_rows, size_t n_columns) {
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t c = 0; c < n_columns; c++) {
            int width = 0;
            for (size_t i = 0; i < n_rows; i++) {
                const int n = (int)strlen(cells[i * n_columns + c]);
                if (n > width) width = n;
            }
            const bool is_last = c + 1 == n_columns;
            if (is_figure(cells, n_rows, n_columns, c))
                bytes_add_format(to, "%*s", width, cells[r * n_columns + c]);
            else
                bytes_add_format(to, "%-*s", is_last ? 0 : width, cells[r * n_columns + c]);
            bytes_add_text(to, is_last ? "\n" : "  ");
        }
    }
}

const char *human_size(uint64_t n_bytes, char *text) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (n_bytes < 1024) {
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " bytes", n_bytes);
        return text;
    }
    double v = (double)n_bytes / 1024;
    size_t u = 0;
    while (v >= 1023.5 && u + 1 < sizeof units / sizeof *units) v /= 1024, u++;
    snprintf(text, HUMAN_BYTES, v < 9.95 ? "%.1f %s" : "%.0f %s", v, units[u]);
    return text;
}

const char *human_count(uint64_t n, char *text) {
    char digits[HUMAN_BYTES];
    const int n_digits = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *out = text;
    for (int i = 0; i < n_digits; i++) {
        if (i && (n_digits - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *human_time(double milliseconds, char *text) {
    const double s = milliseconds / 1000;
    const long whole = (long)(s + 0.5);
    if (s < 1)
        snprintf(text, HUMAN_BYTES, "%.0f ms", milliseconds);
    else if (s < 99.95)
        snprintf(text, HUMAN_BYTES, "%.1f s", s);
    else
        snprintf(text, HUMAN_BYTES, "%ld min %ld s", whole / 60, whole % 60);
    return text;
}
