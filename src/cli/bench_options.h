// cli/bench_options.h - the options of `bench`, and the tables that parse them.
//
// Ownership: `struct bench_options` is the caller's, {0} before parsing; strings point into the command line.
#ifndef RN_CLI_BENCH_OPTIONS_H
#define RN_CLI_BENCH_OPTIONS_H

#include "app/options.h"

enum { BENCH_MOST_VALUES = 16, BENCH_MOST_MODELS = 16 };

typedef struct bench_list {
    int32_t v[BENCH_MOST_VALUES];
    size_t n;
} bench_list;

typedef struct bench_options {
    const char *models[BENCH_MOST_MODELS]; // NULL: the default one
    size_t n_models;
    bench_list prompts, gens, depths, batches;
    bench_list threads;  // 0: the engine's choice
    bench_list kv_types; // of rn_kv_type
    int32_t n_repeats;
    bool is_json, wants_profile, wants_no_limits, fails_when_slower;
    const char *vs_path, *trace_path, *html_path; // NULL: none
} bench_options;

enum { BENCH_MEASURED_ROWS = 8, BENCH_ANSWER_ROWS = 6, BENCH_MODEL_ROWS = 1 };
extern const option bench_measured_rows[BENCH_MEASURED_ROWS], bench_answer_rows[BENCH_ANSWER_ROWS],
    bench_model_rows[BENCH_MODEL_ROWS];

// Fills in defaults for lists that were not given.
void bench_options_complete(bench_options *w);

#endif
