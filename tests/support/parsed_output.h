// tests/support/parsed_output.h - what an output parser makes of a text, pushed in pieces.
//
// Ownership: parsed_free(). Threads: one at a time.
#ifndef RN_TESTS_PARSED_OUTPUT_H
#define RN_TESTS_PARSED_OUTPUT_H

#include "output/output_parser.h"
#include "text/text_buf.h"

enum { PARSED_MAX_CALLS = 64 };

struct parsed {
    struct text_buf content, reasoning;
    struct text_buf calls[PARSED_MAX_CALLS]; // their arguments
    char name[PARSED_MAX_CALLS][300], id[PARSED_MAX_CALLS][300];
    bool broken[PARSED_MAX_CALLS];
    int n_calls, n_ended;
    // All in the order in which it came: `C(text) R(reasoning) T0(name,arguments,id)`, `!` at the end of one that is broken.
    struct text_buf story;
    int open;   // the open part of the output: 0 none, 1 content, 2 reasoning, 3 a call
    bool wrong; // events that the header does not allow
};

void parsed_begin(struct parsed *d); // zeroed before
void parsed_event(void *user, const struct output_event *e);
void parsed_end(struct parsed *d); // story gets its end, and a terminator
void parsed_free(struct parsed *d);
// text[0..n) in pieces that end at cuts[0..n_cuts), which rise.
void parsed_run(struct parsed *d, const output_format *f, const char *prompt, const char *text, size_t n,
                const size_t *cuts, size_t n_cuts);
// The same for a request with these tools (NULL: none), byte by byte if it is cut, else at once.
void parsed_run_tools(struct parsed *d, const output_format *f, const struct output_tools *tools, const char *text,
                      size_t n, bool is_cut);

#endif
