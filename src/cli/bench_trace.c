// cli/bench_trace.c - writes events as JSON: "Trace Event Format" (Chrome), sections "JSON Object Format",
// "Complete Events", "Metadata Events".
#include "cli/bench_trace.h"
#include "app/json_write.h"

static const double gap_us = 1000; // between the runs of two figures

bool bench_trace_open(bench_trace *t, const char *path) {
    *t = (bench_trace){0};
    if (!out_file_open(&t->file, path)) return false;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", t->file.to);
    return true;
}

static void put_place(json_writer *w, const char *phase, const char *name, int32_t pid, int32_t tid) {
    json_put_begin(w, '{');
    json_member_string(w, "ph", phase);
    json_member_string(w, "name", name);
    json_member_whole(w, "pid", pid);
    json_member_whole(w, "tid", tid);
}

// Writes a metadata event, which names a process or thread.
static void put_name(json_writer *w, const char *what, int32_t pid, int32_t tid, const char *name) {
    put_place(w, "M", what, pid, tid);
    json_member_begin(w, "args", '{');
    json_member_string(w, "name", name);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

static void put_event(json_writer *w, const rn_profile *p, const rn_profile_event *e, int32_t pid, double from_us) {
    const rn_profile_op *o = p->ops[e->op];
    put_place(w, "X", o->matrix ? o->matrix : o->kind, pid, e->thread);
    json_member_string(w, "cat", o->kind);
    json_member_rounded(w, "ts", from_us + (double)e->begin_ns / 1e3, 3);
    json_member_rounded(w, "dur", (double)e->ns / 1e3, 3);
    json_member_begin(w, "args", '{');
    json_member_u64(w, "step", e->step);
    json_member_whole(w, "layer", o->layer);
    json_member_u64(w, "bytes_a_call", o->calls ? o->bytes / o->calls : 0);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

// Writes the line to the file and empties it.
static void put_out(bench_trace *t, bytes *line) {
    bytes_add_text(line, "\n");
    fwrite(line->data, 1, line->n, t->file.to);
    line->n = 0;
}

void bench_trace_add(bench_trace *t, const char *name, const rn_profile *p) {
    const int32_t pid = ++t->n_figures;
    const double from_us = t->end_us;
    bytes line = {0};
    json_writer w = {&line, pid > 1};
    int32_t n_threads = 0;
    put_name(&w, "process_name", pid, 0, name);
    for (size_t i = 0; i < p->n_events; i++) {
        const rn_profile_event *e = &p->events[i];
        const double end_us = from_us + (double)(e->begin_ns + e->ns) / 1e3;
        if (e->thread >= n_threads) {
            char thread[32];
            snprintf(thread, sizeof thread, "thread %d", e->thread);
            put_name(&w, "thread_name", pid, e->thread, thread);
            n_threads = e->thread + 1;
        }
        put_event(&w, p, e, pid, from_us);
        put_out(t, &line);
        if (end_us + gap_us > t->end_us) t->end_us = end_us + gap_us;
    }
    put_out(t, &line);
    bytes_free(&line);
    if (p->n_events_dropped)
        say("trace: %s: the first %zu events; %llu more did not fit", name, p->n_events,
            (unsigned long long)p->n_events_dropped);
}

bool bench_trace_commit(bench_trace *t) {
    fputs("]}\n", t->file.to);
    return out_file_commit(&t->file);
}

void bench_trace_drop(bench_trace *t) { out_file_drop(&t->file); }
