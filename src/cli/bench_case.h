// cli/bench_case.h - the measurements behind `bench`: one case, several runs of each of its two kinds.
//
// A prompt is read by one stream. A generation is made by n_batch streams side by side: a run counts the steps in which all of them
// take part. Tokens that stand before (the depth) are evaluated once, in sessions that every run cuts back to them.
//
// Ownership: `struct bench_ground` is the caller's; {0} with engine, model's index 0 and n_vocab set is empty; bench_ground_clear() before
// its engine ends. Threads: one at a time.
#ifndef RN_CLI_BENCH_CASE_H
#define RN_CLI_BENCH_CASE_H

#include <runnel/runnel.h>

enum { BENCH_MOST_REPEATS = 100, BENCH_MOST_BATCH = 64 };
typedef enum bench_kind { BENCH_PROMPT, BENCH_GENERATION, BENCH_N_KINDS } bench_kind;
const char *bench_kind_name(bench_kind k); // "prompt", "generation"

typedef struct bench_case {
    int32_t depth;    // tokens in each context before what is measured
    int32_t n_prompt; // tokens of the measured prompt; 0: not measured
    int32_t n_gen;    // steps of the measured generation; 0: not measured
    int32_t n_batch;  // streams that generate
    int32_t n_repeats;
} bench_case;

// An engine, and the contexts that runs begin in.
typedef struct bench_ground {
    rn_engine *engine;
    int32_t n_vocab;
    int32_t depth; // of the sessions
    rn_session *sessions[BENCH_MOST_BATCH];
    int32_t n_sessions;
    uint64_t n_runs; // so far: each has tokens of its own
} bench_ground;
void bench_ground_clear(bench_ground *g);

// One kind of a case, measured. All rates are those of the median run.
typedef struct bench_figure {
    int32_t n_values;                  // 0: not measured
    double values[BENCH_MOST_REPEATS]; // tokens a second, of all streams together, in the order of the runs
    double median, spread;             // spread: (largest - smallest) / median
    double read_bytes_s;               // weights, keys and values
    double int8_products_s;            // multiplications of integers
    double first_ms;                   // prompt: from the beginning to the first token
    rn_profile *profile;               // of one more run, when asked for; owned
} bench_figure;

// Positions of a context that a case needs. Cut a case so that it fits n_ctx; false: not even its depth does.
int32_t bench_case_positions(const bench_case *c);
bool bench_case_cut(bench_case *c, int32_t n_ctx);
// n_repeats runs after one that is not counted; with want_profile one more, which has n_events events.
rn_status bench_case_run(bench_ground *g, const bench_case *c, bench_kind kind, bool want_profile, size_t n_events,
                         bench_figure *figure, rn_error *err);

#endif
