// cli/run_print.h - prints a stream: its text as it comes, lines of JSON, or a table of tokens.
//
// Ownership: `struct run_print` is the caller's; run_print_init() first, run_print_free() last.
// Threads:   one at a time.
#ifndef RN_CLI_RUN_PRINT_H
#define RN_CLI_RUN_PRINT_H

#include "app/chat_message.h"
#include "app/files.h"
#include "app/generation.h"
#include "app/machine.h"

typedef struct run_print {
    machine *on;
    const generation *g;
    bool is_chat, show_reasoning;
    bool is_json;
    bool shows_probs;     // colours the text by the probability of its tokens
    int32_t top_probs;    // a line for each token, with so many candidates; 0: the text
    chat_message message; // the answer so far; its tool calls are printed when complete
    size_t n_printed;     // tool calls printed so far
    bool is_thinking;     // the last text shown was reasoning
    bool to_terminal;     // stdout is a terminal and the output is text
    bool ends_lines;      // a last line without a line break gets one; at a terminal it always does
    bool ends_line;       // the last byte written was a line break
    bool was_cut;         // the text ended at the limit of its tokens
    output out;
    bytes line;         // buffer for the output of one chunk
    bool has_colour;    // probabilities are shown in colours
    const char *colour; // of the next text; NULL: none
    double least;       // probability of a token since the last text
} run_print;

extern const option run_interval_rows[1];
#define RUN_INTERVAL_GROUP(g) {"Output", run_interval_rows, 1, (g)}
enum { RUN_PRINT_ROWS = 3 };
extern const option run_print_rows[RUN_PRINT_ROWS];
#define RUN_PRINT_GROUP(p) {NULL, run_print_rows, RUN_PRINT_ROWS, (p)}

void run_print_init(run_print *p, machine *on, const generation *g);
// Prints an error for options that have no effect together; false if there are such.
bool run_print_check(const run_print *p, const options *parsed);
// Call before the stream begins: what the request has to deliver. is_chat: the answer has channels.
void run_print_begin(run_print *p, rn_request *req, bool is_chat, bool show_reasoning);
// Prints a stream to its end. Returns the exit code; errors have been printed.
int run_print_stream(run_print *p, rn_stream *stream);
void run_print_free(run_print *p);

#endif
