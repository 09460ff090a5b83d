// cli/bench_trace.h - writes profiles as a timeline in Chrome's trace event format, for Perfetto and chrome://tracing.
//
// Complete events ("ph":"X"): ts and dur in microseconds, one process per figure, one thread per computing thread. The file is
// written whole or not at all.
// Ownership: bench_trace_drop() at the end, also after bench_trace_commit(). Threads: one at a time.
#ifndef RN_CLI_BENCH_TRACE_H
#define RN_CLI_BENCH_TRACE_H

#include "app/files.h"
#include <runnel/runnel.h>

enum { BENCH_TRACE_EVENTS = 1 << 16 }; // of one figure

typedef struct bench_trace {
    out_file file;
    int32_t n_figures;
    double end_us; // start of the next figure: figures follow each other on the timeline
} bench_trace;

bool bench_trace_open(bench_trace *t, const char *path); // false: the error has been printed
// name: the figure's, for example "stories.gguf prompt 512".
void bench_trace_add(bench_trace *t, const char *name, const rn_profile *p);
bool bench_trace_commit(bench_trace *t); // false: no file was written; the error has been printed
void bench_trace_drop(bench_trace *t);

#endif
