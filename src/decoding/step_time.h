// decoding/step_time.h - the step-time model of one model slot: how long a step of so many rows takes, learned from the steps that ran.
//
// Two figures are measured: the time of a decode-only step (no prefill rows) by its number of rows, exactly up to STEP_TIME_EXACT rows
// and in tiles of STEP_TIME_TILE beyond, because kernels work in such tiles; and the time that each prefill row adds to a step. The
// scheduler sizes prefill by them; a strategy can weigh what more rows cost (a longer draft, a wider tree) against what they bring.
// They decide which rows a step has, never what a row gives.
//
// Ownership: plain data, {0} is empty. Threads: the step thread learns; others read under the engine's lock.
#ifndef RN_DECODING_STEP_TIME_H
#define RN_DECODING_STEP_TIME_H

#include "base/running_median.h"
#include <stddef.h>

enum {
    STEP_TIME_EXACT = 32,  // decode-only steps of up to this many rows are measured by exact row count
    STEP_TIME_TILE = 16,   // larger ones by their number of tiles; prefill rows come in whole tiles too
    STEP_TIME_MOST = 2048, // of more rows: extrapolated
    STEP_TIME_SIZES = STEP_TIME_EXACT + (STEP_TIME_MOST - STEP_TIME_EXACT) / STEP_TIME_TILE,
    STEP_TIME_LEAST_ROWS = 4 // prefill rows that a step is given where not even a tile fits
};

struct step_time {
    struct running_median measured[STEP_TIME_SIZES];        // nanoseconds of decode-only steps of that size
    double median[STEP_TIME_SIZES], quick[STEP_TIME_SIZES]; // of each, and p25; 0: not measured
    struct running_median prefill_row;                      // nanoseconds that a prefill row adds
    // What follows from them for every size, never falling with the number of rows: measured sizes smoothed, the sizes between two
    // measured ones interpolated, and those beyond the largest one dearer by what prefill rows add.
    double ns[STEP_TIME_SIZES];
    size_t n_smallest, n_largest; // rows of the smallest and the largest measured size; 0: nothing was measured
    size_t n_steps;               // decode-only steps that were measured
};

// A step of n_decode decode rows and n_prefill prefill rows took so long.
void step_time_learn(struct step_time *t, size_t n_decode, size_t n_prefill, int64_t ns);
// What a decode-only step of n rows takes. 0: nothing was measured, or no rows.
double step_time_ns(const struct step_time *t, size_t n_rows);
// What it takes at the least: where only larger steps were measured, its rows' part of the smallest of them. 0: too few steps were measured, the first
// of which may be slow. For whoever decides whether to try such a step, as what is taken for too dear is never measured.
double step_time_least_ns(const struct step_time *t, size_t n_rows);
// What such steps take where nothing else on the machine slows them down: p25 of the last ones. *n_steps: how many there were; 0: none, and 0 ns. Sizes
// compare by it although each was measured at a time of its own, and one that was measured at a bad time looks too dear only until a quarter of its
// steps were quick.
double step_time_undisturbed(const struct step_time *t, size_t n_rows, uint32_t *n_steps);
// What a prefill row adds. 0: nothing was measured.
double step_time_prefill_row_ns(const struct step_time *t);
// Prefill rows that fit into so many nanoseconds even where each takes as long as the slower ones of late (p75): whole tiles, or a
// multiple of STEP_TIME_LEAST_ROWS where no tile fits, and at least so many. Before anything was measured: one page of rows.
size_t step_time_prefill_rows(const struct step_time *t, double ns);

#endif
