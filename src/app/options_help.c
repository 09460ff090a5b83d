// app/options_help.c - writes a help page from option tables: two columns, wrapped at 79.
#include "app/options.h"
#include "app/wrap.h"
#include <string.h>

enum { WIDTH = 79, HELP_COLUMN = 29 };

static void print_row(const option *row, FILE *to) {
    char left[128];
    const int n =
        snprintf(left, sizeof left, "  %c%c%s--%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
                 row->letter ? ", " : "  ", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
    fputs(left, to);
    // A left column that is too wide gets a line of its own.
    if (n > HELP_COLUMN - 2)
        fprintf(to, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(to, "%*s", HELP_COLUMN - n, "");
    print_wrapped(row->help, HELP_COLUMN, WIDTH, to);
}

void options_print_help(const option_spec *spec, FILE *to) {
    static const option always[] = {
        {.letter = 'h', .name = "help", .help = "show this page"},
        {.name = "version", .help = "show the program's version"},
    };
    fprintf(to, "usage: runnel %s %s\n\n", spec->command, spec->usage);
    print_wrapped(spec->about, 0, WIDTH, to);
    for (size_t g = 0; g < spec->n_groups; g++) {
        if (spec->groups[g].title) fprintf(to, "\n%s:\n", spec->groups[g].title);
        for (size_t i = 0; i < spec->groups[g].n_rows; i++) print_row(&spec->groups[g].rows[i], to);
    }
    fputc('\n', to);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) print_row(&always[i], to);
    if (spec->notes) fprintf(to, "\n%s\n", spec->notes);
}
