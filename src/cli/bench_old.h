// cli/bench_old.h - compares with an earlier run, read from the file that `bench --json` wrote.
//
// Figures are matched by kind, model (file name), CPU set, threads, KV type, depth, streams and tokens.
// Ownership: bench_old_free(). Threads: one at a time.
#ifndef RN_CLI_BENCH_OLD_H
#define RN_CLI_BENCH_OLD_H

#include "cli/bench_row.h"

typedef struct bench_old bench_old;

// NULL: the file cannot be read or was not written by `bench`; the error has been printed.
bench_old *bench_old_read(const char *path);
// Fills row->old; prints to stderr which figures of the row are not in the file.
void bench_old_find(bench_old *o, bench_row *row);
// Prints which figures of the file no row matched, and whether the file is from another processor.
void bench_old_say_rest(const bench_old *o, const char *processor);
void bench_old_free(bench_old *o); // NULL is fine

#endif
