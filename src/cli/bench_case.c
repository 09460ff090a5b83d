// cli/bench_case.c - measures one case: generates prompts, runs streams in parallel, reads times from their
// last chunks and bytes from a profile.
#include "cli/bench_case.h"
#include "app/interrupt.h"
#include "app/progress.h"
#include "app/say.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_NS = 50000000, GATE_NS = 20000, MOST_BUFFERED = 65536 };

const char *bench_kind_name(bench_kind k) { return k == BENCH_PROMPT ? "prompt" : "generation"; }

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

// Tokens that each stream generates: one that is not timed, the measured ones and, with several streams, two
// spare ones, since the gate lets the first stream get a step ahead of the others.
static int32_t made_tokens(const bench_case *c) { return 1 + c->n_gen + (c->n_batch > 1 ? 2 : 0); }

// Context length of a case in tokens: a prompt and its one generated token, or a generation, which begins with
// one prompt token.
int32_t bench_case_positions(const bench_case *c) {
    return c->depth + larger(c->n_prompt ? c->n_prompt + 1 : 0, c->n_gen ? made_tokens(c) + 1 : 0);
}

bool bench_case_cut(bench_case *c, int32_t n_ctx) {
    const int32_t room = n_ctx - c->depth, not_timed = made_tokens(c) - c->n_gen + 1;
    if (c->n_prompt > room - 1) c->n_prompt = room - 1;
    if (c->n_gen > room - not_timed) c->n_gen = room - not_timed;
    return room > not_timed;
}

// Fills ids with pseudo-random tokens that are the same on every machine. Those of different runs differ from
// the first one on, so that no cached prefix is reused. Knuth's MMIX generator.
static void fill_ids(int32_t *ids, int32_t n, int32_t n_vocab, uint64_t run) {
    uint64_t x = run + 1;
    for (int32_t i = 0; i < n; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ids[i] = (int32_t)((x >> 33) % (uint64_t)n_vocab);
    }
}

// One stream of a run.
typedef struct runner {
    rn_stream *stream;
    double begin_ms;
    rn_usage usage; // of the last chunk, like timing
    rn_timing timing;
    bool has_ended;
} runner;

// Progress callback that holds the engine after the first stream's prompt until all streams have begun.
// Otherwise the first stream could be far ahead of the last, or have ended. Runs on the engine's thread.
static bool wait_at_gate(void *user, rn_phase phase, uint64_t done, uint64_t total) {
    (void)phase, (void)done, (void)total;
    const atomic_bool *is_open = user;
    while (!atomic_load_explicit(is_open, memory_order_relaxed) && !interrupt_came())
        nanosleep(&(struct timespec){.tv_nsec = GATE_NS}, NULL);
    return interrupt_came();
}

// gate: the stream waits for it to become true after its prompt was evaluated; NULL: does not wait.
static rn_status begin_runner(bench_ground *g, rn_session *session, int32_t n_ids, int32_t n_made, atomic_bool *gate,
                              runner *r, rn_error *err) {
    int32_t *ids = app_alloc((size_t)n_ids * sizeof *ids);
    const rn_part part = {.kind = RN_PART_IDS, .ids = ids, .n_ids = (size_t)n_ids};
    rn_request req;
    rn_sampling greedy;
    fill_ids(ids, n_ids, g->n_vocab, g->n_runs++);
    rn_request_init(&req);
    rn_sampling_init(&greedy);
    req.session = session;
    req.parts = &part;
    req.n_parts = 1;
    req.add_special = false;
    req.max_tokens = n_made;
    greedy.temp = 0;
    req.sampling = &greedy;
    req.ignore_eos = true;
    req.has_seed = true;
    req.token_times = true;
    req.speculate = "none"; // each step one token of a stream, whatever the text
    // A large buffer, so that no stream waits while the others are read.
    req.buffer_tokens = n_made < MOST_BUFFERED ? n_made : MOST_BUFFERED;
    if (gate) req.progress = wait_at_gate, req.progress_user = gate;
    r->begin_ms = (double)now_ns() / 1e6;
    const rn_status st = rn_stream_begin(g->engine, &req, &r->stream, err);
    free(ids);
    return st;
}

// Reads the next chunk of a stream, if one arrives in time.
static rn_status look(runner *r, int64_t timeout_ns, rn_error *err) {
    rn_chunk c;
    rn_chunk_init(&c);
    if (interrupt_came()) rn_stream_cancel(r->stream);
    const rn_status st = rn_stream_next(r->stream, timeout_ns, &c, err);
    if (st == RN_E_AGAIN) return RN_OK;
    if (st != RN_OK || c.finish_reason == RN_FINISH_NONE) return st;
    r->has_ended = true;
    r->usage = *c.usage;
    r->timing = *c.timing; // its token times stay valid until the stream is closed
    if (c.finish_reason != RN_FINISH_ERROR && c.finish_reason != RN_FINISH_CANCELLED) return RN_OK;
    err->code = c.finish_reason == RN_FINISH_ERROR ? RN_E_INTERNAL : RN_E_CANCELLED;
    snprintf(err->text, sizeof err->text, "bench: %s", c.finish_detail);
    return err->code;
}

// Reads all streams to their ends: waits for the first running one, polls the others.
static rn_status read_all(runner *runners, int32_t n, rn_error *err) {
    rn_status st = RN_OK;
    for (bool is_running = true; is_running && st == RN_OK;) {
        is_running = false;
        for (int32_t i = 0; i < n && st == RN_OK; i++) {
            if (runners[i].has_ended) continue;
            st = look(&runners[i], is_running ? 0 : LOOK_NS, err);
            is_running = true;
        }
    }
    return st;
}

static void close_all(runner *runners, int32_t n) {
    for (int32_t i = 0; i < n; i++) rn_stream_close(runners[i].stream);
}

static rn_session *session_of(const bench_ground *g, int32_t i) { return g->depth ? g->sessions[i] : NULL; }

void bench_ground_clear(bench_ground *g) {
    for (int32_t i = 0; i < g->n_sessions; i++) rn_session_close(g->sessions[i]);
    g->n_sessions = 0;
    g->depth = 0;
}

// Makes sure that there are at least n sessions of `depth` tokens; keeps existing ones of the same depth.
static rn_status dig(bench_ground *g, int32_t depth, int32_t n, rn_error *err) {
    rn_status st = RN_OK;
    if (g->depth != depth) bench_ground_clear(g);
    g->depth = depth;
    while (depth && g->n_sessions < n && st == RN_OK) {
        runner r = {0};
        st = rn_session_open(g->engine, 0, &g->sessions[g->n_sessions], err);
        if (st != RN_OK) break;
        rn_session *const s = g->sessions[g->n_sessions++];
        st = begin_runner(g, s, depth, 1, NULL, &r, err);
        if (st == RN_OK) st = read_all(&r, 1, err);
        close_all(&r, 1);
        if (st == RN_OK) st = rn_session_truncate(s, (size_t)depth, err);
    }
    return st;
}

// Returns tokens per second over the steps from the last stream's first token until the first stream ends: in
// these steps every stream gets a token.
static double side_by_side(const runner *runners, int32_t n, int32_t n_gen) {
    const runner *late = &runners[0];
    double first_end = INFINITY;
    for (int32_t i = 0; i < n; i++) {
        const runner *r = &runners[i];
        const double end = r->begin_ms + r->timing.token_ms[r->timing.n_token_ms - 1];
        if (r->begin_ms + r->timing.token_ms[0] > late->begin_ms + late->timing.token_ms[0]) late = r;
        if (end < first_end) first_end = end;
    }
    int32_t k = 0;
    while (k < n_gen && late->begin_ms + late->timing.token_ms[k + 1] <= first_end) k++;
    return k ? n * k * 1000.0 / (late->timing.token_ms[k] - late->timing.token_ms[0]) : NAN;
}

// One run: sets the rate in tokens per second and the time to the first token in ms.
static rn_status run_once(bench_ground *g, const bench_case *c, bench_kind kind, double *rate, double *first_ms,
                          rn_error *err) {
    const int32_t n = kind == BENCH_PROMPT ? 1 : c->n_batch;
    runner runners[BENCH_MOST_BATCH] = {0};
    atomic_bool gate = false;
    rn_status st = RN_OK;
    for (int32_t i = 0; i < n && st == RN_OK; i++)
        st = kind == BENCH_PROMPT
                 ? begin_runner(g, session_of(g, i), c->n_prompt, 1, NULL, &runners[i], err)
                 : begin_runner(g, session_of(g, i), 1, made_tokens(c), n > 1 ? &gate : NULL, &runners[i], err);
    atomic_store_explicit(&gate, true, memory_order_relaxed);
    if (st == RN_OK) st = read_all(runners, n, err);
    if (st == RN_OK) {
        const rn_usage *u = &runners[0].usage;
        *first_ms = runners[0].timing.first_token_ms;
        *rate = kind == BENCH_PROMPT
                    ? (double)(u->prompt_tokens - u->cached_tokens) * 1000 / runners[0].timing.prefill_ms
                    : side_by_side(runners, n, c->n_gen);
        if (isnan(*rate)) {
            snprintf(err->text, sizeof err->text,
                     "bench: %d streams never all ran at once: there may be too little memory for them", n);
            st = err->code = RN_E_LIMIT;
        }
    }
    close_all(runners, n);
    for (int32_t i = 0; i < n && st == RN_OK && c->depth; i++)
        st = rn_session_truncate(g->sessions[i], (size_t)c->depth, err);
    return st;
}

// Computes bytes read and integer products per token. A generation reads each matrix once per step for n_batch
// tokens; this counts n_batch tokens for every call, because the profile includes steps before all streams had
// begun. For a prompt (n_batch 0) bytes are divided by the number of rows.
static void weigh(const rn_profile *p, int32_t n_batch, double *bytes, double *products) {
    *bytes = *products = 0;
    for (size_t i = 0; i < p->n_ops; i++) {
        const rn_profile_op *o = p->ops[i];
        if (o->calls == 0) continue;
        const bool is_matrix = o->matrix && o->products;
        *bytes += (double)o->bytes / (is_matrix && n_batch ? (double)o->calls * n_batch : (double)p->n_rows);
        if (o->is_int8) *products += (double)o->products / (double)p->n_rows;
    }
}

static rn_status run_profiled(bench_ground *g, const bench_case *c, bench_kind kind, size_t n_events, rn_profile **p,
                              rn_error *err) {
    double rate, first_ms;
    rn_error late;
    rn_status st = rn_profile_begin(g->engine, 0, n_events, err);
    if (st != RN_OK) return st;
    st = run_once(g, c, kind, &rate, &first_ms, err);
    const rn_status ended = rn_profile_end(g->engine, 0, p, st == RN_OK ? err : &late);
    return st == RN_OK ? ended : st;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int32_t n) {
    qsort(v, (size_t)n, sizeof *v, by_size);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void sum_up(bench_figure *f, double *first, double bytes, double products) {
    double sorted[BENCH_MOST_REPEATS];
    const int32_t n = f->n_values;
    memcpy(sorted, f->values, (size_t)n * sizeof *sorted);
    f->median = median(sorted, n);
    f->spread = (sorted[n - 1] - sorted[0]) / f->median;
    f->first_ms = median(first, n);
    f->read_bytes_s = bytes * f->median;
    f->int8_products_s = products * f->median;
}

rn_status bench_case_run(bench_ground *g, const bench_case *c, bench_kind kind, bool want_profile, size_t n_events,
                         bench_figure *figure, rn_error *err) {
    double first[BENCH_MOST_REPEATS], bytes = 0, products = 0;
    rn_profile *warm = NULL;
    *figure = (bench_figure){0};
    rn_status st = dig(g, c->depth, kind == BENCH_PROMPT ? 1 : c->n_batch, err);
    // The warm-up run is not counted: it loads pages and caches, and its profile gives the bytes per token.
    if (st == RN_OK) st = run_profiled(g, c, kind, 0, &warm, err);
    if (st == RN_OK) weigh(warm, kind == BENCH_PROMPT ? 0 : c->n_batch, &bytes, &products);
    rn_profile_free(warm);
    for (int32_t r = 0; r < c->n_repeats && st == RN_OK; r++)
        st = run_once(g, c, kind, &figure->values[r], &first[r], err);
    if (st == RN_OK && want_profile) st = run_profiled(g, c, kind, n_events, &figure->profile, err);
    if (st != RN_OK) return st;
    figure->n_values = c->n_repeats;
    sum_up(figure, first, bytes, products);
    return RN_OK;
}
