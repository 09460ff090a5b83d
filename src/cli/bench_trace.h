// cli/bench_trace.h - profiles as a timeline: a file in Chrome's trace event format, which Perfetto and chrome://tracing show.
//
// Complete events ("ph":"X"): ts and dur in microseconds, a process for each figure, a thread for each computing thread. The file is
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
    double end_us; // where the next figure begins: one after the other on the timeline
} bench_trace;

bool bench_trace_open(bench_trace *t, const char *path); // false, said
// name: of the figure, "stories.gguf prompt 512".
void bench_trace_add(bench_trace *t, const char *name, const rn_profile *p);
bool bench_trace_commit(bench_trace *t); // false, said: nothing is there under the name
void bench_trace_drop(bench_trace *t);

#endif
