// cli/bench_case.h - runs one case of `bench`: several repeats of a prefill and of a generation.
//
// The prompt is evaluated by one stream. A generation runs n_batch streams at once and counts the steps in which all of them take
// part. The tokens before the measured ones (the depth) are evaluated once, in sessions that each run truncates back to the depth.
//
// Ownership: `struct bench_ground` is the caller's; {0} with engine and n_vocab set is empty; call bench_ground_clear() before the
// engine is closed. Threads: one at a time.
#ifndef RN_CLI_BENCH_CASE_H
#define RN_CLI_BENCH_CASE_H

#include <runnel/runnel.h>

enum { BENCH_MOST_REPEATS = 100, BENCH_MOST_BATCH = 64 };
typedef enum bench_kind { BENCH_PROMPT, BENCH_GENERATION, BENCH_N_KINDS } bench_kind;
const char *bench_kind_name(bench_kind k); // "prompt", "generation"

typedef struct bench_case {
    int32_t depth;    // tokens in each context before the measured ones
    int32_t n_prompt; // tokens of the measured prompt; 0: not measured
    int32_t n_gen;    // steps of the measured generation; 0: not measured
    int32_t n_batch;  // streams that generate
    int32_t n_repeats;
} bench_case;

// An engine, and the sessions that hold the depth.
typedef struct bench_ground {
    rn_engine *engine;
    int32_t n_vocab;
    int32_t depth; // of the sessions
    rn_session *sessions[BENCH_MOST_BATCH];
    int32_t n_sessions;
    uint64_t n_runs; // so far; each run has different tokens
} bench_ground;
void bench_ground_clear(bench_ground *g);

// The result of one kind of a case. All rates are those of the median run.
typedef struct bench_figure {
    int32_t n_values;                  // 0: not measured
    double values[BENCH_MOST_REPEATS]; // tokens/s of all streams together, by run
    double median, spread;             // spread: (largest - smallest) / median
    double read_bytes_s;               // weights, keys and values
    double int8_products_s;            // integer multiplications per second
    double first_ms;                   // prompt: time to the first token
    rn_profile *profile;               // of an additional run, if requested; owned
} bench_figure;

// bench_case_positions: the context length that a case needs. bench_case_cut: shortens a case to fit n_ctx; false: its depth alone
// does not fit.
int32_t bench_case_positions(const bench_case *c);
bool bench_case_cut(bench_case *c, int32_t n_ctx);
// Does one warm-up run, then n_repeats measured runs; with want_profile one more, profiled with room for n_events events.
rn_status bench_case_run(bench_ground *g, const bench_case *c, bench_kind kind, bool want_profile, size_t n_events,
                         bench_figure *figure, rn_error *err);

#endif
