// cli/bench_case.h - the measurements behind `bench`: one configuration, medians of a few runs.
#ifndef RN_CLI_BENCH_CASE_H
#define RN_CLI_BENCH_CASE_H

#include <runnel/runnel.h>

typedef struct bench_case {
    int32_t depth;    // tokens in the context before what is measured
    int32_t n_prompt; // tokens of the measured prompt; 0: not measured
    int32_t n_gen;    // tokens of the measured generation; 0: not measured
    int32_t n_repeats;
} bench_case;

typedef struct bench_result { // NaN: not measured
    double prefill_tok_s, decode_tok_s, ttft_ms;
} bench_result;

// Positions that a case needs. Cut a case so that it fits n_ctx; false: not even its depth does.
int32_t bench_case_positions(const bench_case *c);
bool bench_case_cut(bench_case *c, int32_t n_ctx);
// Prompt and generation run one after the other, each in a context of its own, after one run that is not counted.
rn_status bench_case_run(rn_engine *engine, int32_t n_vocab, const bench_case *c, bench_result *result,
                         rn_error *err);

#endif
