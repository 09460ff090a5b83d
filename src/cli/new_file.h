// cli/new_file.h - what `convert` and `quantize` share: options, progress bar, and the line printed for each tensor.
//
// Ownership: `struct new_file` is the caller's; new_file_init() first, new_file_close() last.
// Threads:   one at a time.
#ifndef RN_CLI_NEW_FILE_H
#define RN_CLI_NEW_FILE_H

#include "app/files.h"
#include "app/options.h"
#include "app/progress.h"
#include <runnel/tools.h>

enum { NEW_FILE_MAX_RULES = 64 };

typedef struct new_file {
    rn_quantize_options opt;
    rn_type_rule rules[NEW_FILE_MAX_RULES];
    char *patterns[NEW_FILE_MAX_RULES]; // of the rules, owned
    bool is_json;
    progress bar;
    output out;
    uint64_t n_elements, bytes_before, bytes_after; // so far
    size_t n_tensors;
} new_file;

#define NEW_FILE_ROWS 5
extern const option new_file_rows[NEW_FILE_ROWS];

typedef rn_status (*new_file_fn)(const char *in, const char *out, const rn_quantize_options *opt, rn_error *err);
void new_file_init(new_file *f);
// Writes `out` from `in` by make(), with a line for each tensor on stdout; returns the exit code.
int new_file_make(new_file *f, new_file_fn make, const char *in, const char *out);
void new_file_close(new_file *f);

// "Types: Q4_K_M  4.5 bits ...", for the help pages; freed with free().
char *new_file_types_text(void);

#endif
