// base/pool.c - the threads that compute.
#include "base/pool.h"
#include "base/checked.h"
#include "base/cpus.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/wake_word.h"
#include <stdbool.h>
#include <string.h>

// How long a thread looks before it sleeps: longer than the usual wait between two operations of a step, far shorter
// than a scheduler's time slice.
enum { SPIN_NS = 50000, SPIN_LEAST_NS = 1000, WAITS_PER_TRIAL = 16 };

// Where another process wants the cores, our threads come to share one, and whoever spins keeps the core from the
// thread it waits for. So waits that end asleep make the next ones shorter, down to none; one that ends in time, or a
// trial of full length now and then, brings the full length back.
struct patience {
    int64_t spin_ns, full_ns;
    unsigned n_waits;
};

struct worker {
    _Alignas(64) pool *pool; // no two threads write one cache line
    int i_thread;
    thread thread;                       // [0] is the caller's: not ours
    struct patience for_work, for_phase; // of this thread only
};

struct pool {
    wake_word work;               // counts runs; workers wait for the next one here
    wake_word phase;              // counts barriers passed
    _Alignas(64) atomic_int here; // threads that have reached the barrier
    _Alignas(64) int n_threads;
    // Written by pool_run() and pool_destroy() before they bump `work`, read by workers after it.
    pool_fn fn;
    void *ctx;
    bool stop;
    struct worker workers[POOL_MAX_THREADS];
};

static void wait_patiently(wake_word *w, unsigned old, struct patience *p) {
    const bool trial = ++p->n_waits % WAITS_PER_TRIAL == 0;
    if (wake_word_wait(w, old, trial ? p->full_ns : p->spin_ns))
        p->spin_ns = p->full_ns;
    else
        p->spin_ns = p->spin_ns / 2 >= SPIN_LEAST_NS ? p->spin_ns / 2 : 0;
}

static void *worker_main(void *arg) {
    struct worker *self = arg;
    pool *p = self->pool;
    fp_mode_enter(); // for the thread's life
    for (unsigned n_runs = 0;; n_runs++) {
        wait_patiently(&p->work, n_runs, &self->for_work);
        if (p->stop) return NULL;
        p->fn(p->ctx, self->i_thread, p->n_threads);
        pool_barrier(p, self->i_thread);
    }
}

// Where the threads cannot all run at once, a spinning one keeps the core from the one it waits for.
static int64_t spin_time(int n_threads) {
    cpus c;
    cpus_detect("", &c);
    const bool all_at_once = n_threads <= c.n_affinity && (c.quota == 0 || n_threads <= c.quota);
    return all_at_once ? SPIN_NS : 0;
}

rn_status pool_create(int n_threads, pool **out, rn_error *err) {
    *out = NULL;
    if (n_threads < 1 || n_threads > POOL_MAX_THREADS)
        return fail(err, RN_E_ARG, "threads: %d is outside 1..%d", n_threads, POOL_MAX_THREADS);
    pool *p = mem_aligned(sizeof *p);
    if (!p) return fail(err, RN_E_NOMEM, "thread pool: no memory");
    memset(p, 0, sizeof *p);
    p->n_threads = 1;
    const int64_t spin_ns = spin_time(n_threads);
    for (int i = 0; i < n_threads; i++) {
        struct worker *w = &p->workers[i];
        w->pool = p;
        w->i_thread = i;
        w->for_work = w->for_phase = (struct patience){.spin_ns = spin_ns, .full_ns = spin_ns};
        if (i == 0) continue;
        const rn_status st = thread_start(&w->thread, worker_main, w, err);
        if (st != RN_OK) {
            pool_destroy(p);
            return fail_in(err, st, "thread pool: worker %d of %d", i, n_threads - 1);
        }
        p->n_threads = i + 1; // workers read it in runs only
    }
    *out = p;
    return RN_OK;
}

void pool_destroy(pool *p) {
    if (!p) return;
    p->stop = true;
    wake_word_bump(&p->work);
    for (int i = 1; i < p->n_threads; i++) thread_join(p->workers[i].thread);
    mem_free(p);
}

int pool_n_threads(const pool *p) { return p->n_threads; }

void pool_run(pool *p, pool_fn fn, void *ctx) {
    const fp_mode callers = fp_mode_enter();
    p->fn = fn;
    p->ctx = ctx;
    if (p->n_threads > 1) wake_word_bump(&p->work);
    fn(ctx, 0, p->n_threads);
    pool_barrier(p, 0); // also: no worker still reads fn and ctx
    fp_mode_leave(callers);
}

void pool_barrier(pool *p, int i_thread) {
    if (p->n_threads == 1) return;
    const unsigned phase = wake_word_read(&p->phase); // cannot change before we are counted
    // acq_rel: the last to arrive has seen what each wrote before, and hands it on with the bump.
    if (atomic_fetch_add_explicit(&p->here, 1, memory_order_acq_rel) + 1 < p->n_threads) {
        wait_patiently(&p->phase, phase, &p->workers[i_thread].for_phase);
        return;
    }
    atomic_store_explicit(&p->here, 0, memory_order_relaxed); // published by the bump, before anyone arrives again
    wake_word_bump(&p->phase);
}

void pool_share(size_t n, size_t grain, int i_thread, int n_threads, size_t *begin, size_t *end) {
    const size_t i = (size_t)i_thread, n_blocks = ceil_div(n, grain);
    const size_t each = n_blocks / (size_t)n_threads, extra = n_blocks % (size_t)n_threads;
    const size_t first = each * i + (i < extra ? i : extra), last = first + each + (i < extra);
    *begin = first * grain < n ? first * grain : n;
    *end = last * grain < n ? last * grain : n;
}
