// cli/compare/compare_print.h - what lanes that have ended amount to: a table for people, and JSON.
//
// Threads: one at a time.
#ifndef RN_CLI_COMPARE_PRINT_H
#define RN_CLI_COMPARE_PRINT_H

#include "cli/compare/compare_lane.h"

// A comparison that is complete, or was cut short by Ctrl+C.
typedef struct comparison {
    const char *prompt; // n_prompt bytes; NULL: token ids
    size_t n_prompt;
    const id_list *ids;
    compare_lane *lanes;
    size_t n;
    bool names_models; // several are compared
    double self_bleu;
} comparison;

// The figures of one lane as people read them, in the order of compare_heads. text: COMPARE_FIGURES * HUMAN_BYTES bytes (app/wrap.h).
enum { COMPARE_FIGURES = 11 };
extern const char *const compare_heads[COMPARE_FIGURES];
void compare_figures(const compare_lane *l, char *text);
bool compare_shares_seed(const comparison *c); // all lanes have one

// Lanes as rows; where that is wider than `width`, figures as rows.
void compare_print_table(const comparison *c, int width, bytes *to);
// One object: docs/compare.md has its members.
void compare_print_json(const comparison *c, bytes *to);
// A page (report/report_html.h).
void compare_print_html(const comparison *c, bytes *to);

#endif
