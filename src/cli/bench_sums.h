// cli/bench_sums.h - sums of a profile by kind of operation and by layer.
//
// Ownership: bench_sums_make() / bench_sums_free(); {0} is empty.
#ifndef RN_CLI_BENCH_SUMS_H
#define RN_CLI_BENCH_SUMS_H

#include "app/bytes.h"
#include "app/json_write.h"
#include <runnel/runnel.h>

typedef struct bench_sum {
    char name[80]; // "linear ffn_down", "attend"
    int32_t layer; // in sums by layer; -1: operations outside the layers
    uint64_t calls, ns, wait_ns, bytes, products;
} bench_sum;

typedef struct bench_sums {
    uint64_t n_steps, n_rows, ns;
    bench_sum *kinds, *layers; // in the order of a step
    size_t n_kinds, n_layers;
} bench_sums;

void bench_sums_make(bench_sums *s, const rn_profile *p);
void bench_sums_free(bench_sums *s);
struct bench_canvas; // bench_print.h
// Prints two tables, with lines no longer than the width where possible, and a bar for each row's share of the time if has_bars.
void bench_sums_print(const bench_sums *s, const struct bench_canvas *on, bool has_bars, bytes *to);
void bench_sums_put(const bench_sums *s, json_writer *w);

#endif
