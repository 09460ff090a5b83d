// engine/measure/machine_limits.c - rn_measure_limits(): times a plain read and a loop of integer products on all pool threads.
#include "base/checked.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/process_memory.h"
#include "base/processor.h"
#include "engine/engine.h"
#include "engine/public_structs.h"
#include "kernels/probe.h"
#include <string.h>

enum { N_RUNS = 5 };
#define READ_LEAST    ((uint64_t)256 << 20)
#define READ_MOST     ((uint64_t)1 << 30)
#define READ_LOWEST   ((uint64_t)1 << 20) // if memory is short
#define LEAST_INT8_NS 5000000             // long compared with a barrier and a read of the clock

// A thread's partial sum, which keeps the compiler from removing the work; in a cache line of its own.
struct thread_sum {
    _Alignas(64) uint64_t read;
    int32_t int8;
};

struct limits_call {
    rn_engine *e;
    rn_limits *out;
    uint8_t *memory;
    size_t n_bytes;
    uint64_t n_rounds;
    uint64_t n_products; // of thread 0
    int64_t ns;          // of the last run
    struct thread_sum sums[POOL_MAX_THREADS];
    rn_status st;
    rn_error err;
};

// A thread reads the same part in every run, as pages are allocated near the thread that first touched them.
static void share(const struct limits_call *c, int i_thread, int n_threads, size_t *begin, size_t *end) {
    pool_share(c->n_bytes, 4096, i_thread, n_threads, begin, end);
}

static void touch(void *ctx, int i_thread, int n_threads) {
    const struct limits_call *c = ctx;
    size_t begin, end;
    share(c, i_thread, n_threads, &begin, &end);
    memset(c->memory + begin, 1, end - begin);
}

static void read_once(void *ctx, int i_thread, int n_threads) {
    struct limits_call *c = ctx;
    size_t begin, end;
    share(c, i_thread, n_threads, &begin, &end);
    pool_barrier(c->e->threads, i_thread);
    const int64_t start = clock_now_ns();
    c->sums[i_thread].read = probe_read(c->memory + begin, end - begin);
    pool_barrier(c->e->threads, i_thread);
    if (i_thread == 0) c->ns = clock_now_ns() - start;
}

static void multiply_once(void *ctx, int i_thread, int n_threads) {
    (void)n_threads;
    struct limits_call *c = ctx;
    pool_barrier(c->e->threads, i_thread);
    const int64_t start = clock_now_ns();
    const uint64_t n = probe_int8_of(c->e->kernels->id)(c->n_rounds, &c->sums[i_thread].int8);
    pool_barrier(c->e->threads, i_thread);
    if (i_thread != 0) return;
    c->ns = clock_now_ns() - start;
    c->n_products = n;
}

// The minimum of a few runs: other load makes runs longer, never shorter.
static int64_t least_ns(struct limits_call *c, pool_fn fn) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < N_RUNS; i++) {
        pool_run(c->e->threads, fn, c);
        if (c->ns < least) least = c->ns;
    }
    return least > 0 ? least : 1;
}

// Twice the largest cache, so that little data stays cached between runs.
static size_t read_size(void) {
    struct memory_limit have;
    memory_limit_detect("", &have);
    const uint64_t cache = caches_largest("");
    uint64_t n = 2 * (cache < READ_MOST ? cache : READ_MOST);
    n = n < READ_LEAST ? READ_LEAST : n > READ_MOST ? READ_MOST : n;
    if (have.bytes && n > have.bytes / 8) n = have.bytes / 8;
    return (size_t)(n < READ_LOWEST ? READ_LOWEST : n) & ~(size_t)4095;
}

static void measure_on_step_thread(void *ctx) {
    struct limits_call *c = ctx;
    c->n_bytes = read_size();
    c->memory = mem_pages(c->n_bytes);
    if (!c->memory) {
        c->st = fail(&c->err, RN_E_NOMEM, "limits: out of memory for %zu bytes to read", c->n_bytes);
        return;
    }
    pool_run(c->e->threads, touch, c);
    const double read_ns = (double)least_ns(c, read_once);
    mem_pages_free(c->memory, c->n_bytes);
    c->n_rounds = 512;
    do {
        c->n_rounds *= 2;
        pool_run(c->e->threads, multiply_once, c);
    } while (c->ns < LEAST_INT8_NS);
    const double int8_ns = (double)least_ns(c, multiply_once);
    *c->out = (rn_limits){
        .struct_size = sizeof *c->out,
        .read_bytes_s = (double)c->n_bytes / read_ns * 1e9,
        .int8_products_s = (double)c->n_products * pool_n_threads(c->e->threads) / int8_ns * 1e9,
        .read_size_bytes = c->n_bytes,
    };
}

rn_status rn_measure_limits(rn_engine *engine, rn_limits *limits, rn_error *err) {
    rn_limits own;
    if (!engine) return fail(err, RN_E_ARG, "rn_measure_limits: NULL argument");
    const rn_status st = sized_check(&public_limits, limits, err);
    if (st != RN_OK) return st;
    struct limits_call c = {.e = engine, .out = &own};
    engine_call_wait(engine, measure_on_step_thread, &c);
    if (c.st != RN_OK) return fail(err, c.st, "%s", c.err.text);
    sized_write(&public_limits, &own, limits);
    return RN_OK;
}
