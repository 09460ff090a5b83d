// cli/bench_old.h - figures of an earlier run, from the file that `bench --json` wrote: what is faster, slower or gone.
//
// A figure is found again by kind, model (file name), CPU set, threads, type of keys and values, depth, streams and tokens.
// Ownership: bench_old_free(). Threads: one at a time.
#ifndef RN_CLI_BENCH_OLD_H
#define RN_CLI_BENCH_OLD_H

#include "cli/bench_row.h"

typedef struct bench_old bench_old;

// NULL, and said: the file cannot be read or is not one of `bench`.
bench_old *bench_old_read(const char *path);
// Fills row->old; says on stderr which of the row's figures the file has not.
void bench_old_find(bench_old *o, bench_row *row);
// Says which of its figures no row asked for, and whether it is from another processor.
void bench_old_say_rest(const bench_old *o, const char *processor);
void bench_old_free(bench_old *o); // NULL is fine

#endif
