// cli/compare/compare_table.c - the table below the texts.
#include "app/say.h"
#include "app/term.h"
#include "app/wrap.h"
#include "cli/compare/compare_print.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const compare_heads[COMPARE_FIGURES] = {"tokens", "tok/s",  "rows",   "logprob", "entropy", "dist-1",
                                                    "dist-2", "dist-3", "repeat", "BLEU",    "end"};

static void put(char **cell, double v, int n_digits) {
    if (isnan(v))
        snprintf(*cell, HUMAN_BYTES, "-");
    else
        snprintf(*cell, HUMAN_BYTES, "%.*f", n_digits, v);
    *cell += HUMAN_BYTES;
}

void compare_figures(const compare_lane *l, char *text) {
    char *cell = text;
    put(&cell, (double)l->usage.completion_tokens, 0);
    put(&cell, compare_lane_rate(l), 1);
    put(&cell, (double)l->usage.model_rows, 0);
    put(&cell, l->logprob, 3);
    put(&cell, l->entropy, 3);
    for (size_t k = 0; k < 3; k++) put(&cell, l->distinct[k], 2);
    put(&cell, l->repetition, 2);
    put(&cell, l->bleu, 2);
    snprintf(cell, HUMAN_BYTES, "%s", rn_finish_name(l->finish));
}

static bool begins_character(const char *text) { return ((unsigned char)*text & 0xC0) != 0x80; }

// Names are anybody's, as those of files are. Of a long one the middle is left out: quantizations of one model end in different ways.
static void add_name(bytes *to, const char *name) {
    enum { MOST = 40, END = 19 };
    const size_t n = strlen(name);
    if (n <= MOST) {
        term_add_line(to, name, n);
        return;
    }
    const char *front = name + END, *back = name + n - END;
    while (front > name && !begins_character(front)) front--;
    while (!begins_character(back)) back++;
    term_add_line(to, name, (size_t)(front - name));
    bytes_add_text(to, "..");
    term_add_line(to, back, strlen(back));
}

static char *label_of(const comparison *c, const compare_lane *l) {
    bytes label = {0};
    add_name(&label, l->label);
    if (c->names_models) {
        bytes_add_text(&label, " ");
        add_name(&label, l->model_name);
    }
    bytes_add(&label, "", 0); // text that is empty is text, too
    return label.data;
}

// Figures of the lanes from..to as a table; across: lanes are columns.
static void add_table(const comparison *c, size_t from, size_t to, bool across, bytes *out) {
    const size_t n = to - from, n_rows = across ? COMPARE_FIGURES + 1 : n + 1,
                 n_columns = across ? n + 1 : COMPARE_FIGURES + 1;
    const char **const cells = app_alloc(n_rows * n_columns * sizeof *cells);
    char *const figures = app_alloc(n * COMPARE_FIGURES * HUMAN_BYTES);
    char **const labels = app_alloc(n * sizeof *labels);
    cells[0] = "";
    for (size_t k = 0; k < COMPARE_FIGURES; k++) cells[across ? (k + 1) * n_columns : k + 1] = compare_heads[k];
    for (size_t i = 0; i < n; i++) {
        char *const own = figures + i * COMPARE_FIGURES * HUMAN_BYTES;
        compare_figures(&c->lanes[from + i], own);
        cells[across ? i + 1 : (i + 1) * n_columns] = labels[i] = label_of(c, &c->lanes[from + i]);
        for (size_t k = 0; k < COMPARE_FIGURES; k++)
            cells[across ? (k + 1) * n_columns + i + 1 : (i + 1) * n_columns + k + 1] = own + k * HUMAN_BYTES;
    }
    table_add(out, cells, n_rows, n_columns);
    for (size_t i = 0; i < n; i++) free(labels[i]);
    free(labels);
    free(figures);
    free(cells);
}

static bool fits(const bytes *table, int width) {
    for (const char *line = table->data; line && *line;) {
        const size_t n = strcspn(line, "\n");
        if (n > (size_t)width) return false;
        line += n + (line[n] != '\0');
    }
    return true;
}

// As many lanes side by side as there is room for, at least one.
static void add_narrow(const comparison *c, int width, bytes *to) {
    for (size_t from = 0, end; from < c->n; from = end) {
        bytes table = {0};
        for (end = c->n; end > from; end--) {
            table.n = 0;
            add_table(c, from, end, true, &table);
            if (end == from + 1 || fits(&table, width)) break;
        }
        if (from > 0) bytes_add_text(to, "\n");
        bytes_add(to, table.data, table.n);
        bytes_free(&table);
    }
}

bool compare_shares_seed(const comparison *c) {
    for (size_t i = 1; i < c->n; i++)
        if (c->lanes[i].seed != c->lanes[0].seed) return false;
    return true;
}

// "self-BLEU 0.31, seed 7": the seed only if all lanes have it.
static void add_last_line(const comparison *c, bytes *to) {
    const bool is_shared = compare_shares_seed(c);
    if (!isnan(c->self_bleu)) bytes_add_format(to, "self-BLEU %.2f%s", c->self_bleu, is_shared ? ", " : "\n");
    if (is_shared) bytes_add_format(to, "seed %" PRIu64 "\n", c->lanes[0].seed);
}

void compare_print_table(const comparison *c, int width, bytes *to) {
    bytes table = {0};
    add_table(c, 0, c->n, false, &table);
    if (fits(&table, width))
        bytes_add(to, table.data, table.n);
    else
        add_narrow(c, width, to);
    bytes_free(&table);
    add_last_line(c, to);
}
