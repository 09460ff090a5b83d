// cli/bench_row.h - one measured configuration: a line of the table, an object of the JSON.
//
// Ownership: bench_row_free() frees what a row holds.
#ifndef RN_CLI_BENCH_ROW_H
#define RN_CLI_BENCH_ROW_H

#include "cli/bench_case.h"
#include "cli/bench_sums.h"

// Beyond this a figure is another one.
#define BENCH_CHANGE 0.03

typedef struct bench_row {
    char *model, *architecture, *type; // path; ...; element type of most of its bytes. Owned
    uint64_t model_bytes, n_params;
    char cpu[16], arithmetic[32], kv_type[16];
    int32_t n_threads;
    bench_case c;     // as measured
    rn_limits limits; // of this engine; struct_size 0: not measured
    bench_figure figures[BENCH_N_KINDS];
    bench_sums sums[BENCH_N_KINDS]; // of the figures' profiles; n_steps 0: none
    double old[BENCH_N_KINDS];      // tokens/s in the file compared with; 0: none
    double batch_ratio;             // generation rate divided by that of one stream; 0: not measured
    double peak_mb;
    rn_memory memory; // after the measurement
} bench_row;

void bench_row_free(bench_row *row);
const char *bench_base_name(const char *path); // the part after the last slash
// "prompt 512", "generate 64 x8 @4096": tokens, then streams if several, then depth if not 0.
#define BENCH_LABEL_BYTES 64
void bench_row_label(const bench_row *row, bench_kind kind, char *label);
int32_t bench_row_tokens(const bench_row *row, bench_kind kind); // of its prompt or generation

// A figure as a fraction of the machine's limits for reading memory and for integer multiplication; the larger one is binding.
typedef struct bench_share {
    double read, int8; // 1: the limit; NaN: not measured
} bench_share;
bench_share bench_row_share(const bench_row *row, bench_kind kind);
// Adds the limits that the engine of row i measured as a sentence. False: none were measured, or they are those of the row before.
bool bench_row_add_limits(const bench_row *rows, size_t i, bytes *to);
bool bench_share_is_read(bench_share s); // reading is the nearer limit

// "faster", "slower" by more than BENCH_CHANGE, "same"; NULL: there is no old figure.
const char *bench_row_verdict(const bench_row *row, bench_kind kind);

#endif
