// cli/report/report_html.h - a report as one self-contained HTML file: its frame, and texts of strangers inside it.
//
// The file asks for nothing: its style and its script are in it, named by their hashes in its content security policy, which allows
// nothing else. So even a text that got past report_text() could not run.
//
// Threads: one at a time.
#ifndef RN_CLI_REPORT_HTML_H
#define RN_CLI_REPORT_HTML_H

#include "app/bytes.h"
#include <stddef.h>

// The page up to its heading; title is any text.
void report_begin(bytes *to, const char *title);
void report_end(bytes *to); // with a line about who made it

// Adds any bytes as text, or as a value between double quotes. What is not UTF-8 becomes U+FFFD; control characters but line break and
// tab, and those that change the direction of text, become visible: [U+202E].
void report_text(bytes *to, const char *text, size_t n_text);
void report_string(bytes *to, const char *text); // terminated

// A cell of a figure: a number with that many digits, or - where it is NaN.
void report_cell(bytes *to, double v, int n_digits);
// "<svg ..>": a bar of a share 0..1 in a cell.
void report_bar(bytes *to, double share);

#endif
