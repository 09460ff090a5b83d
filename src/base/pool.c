// base/pool.c - the compute threads.
#include "base/pool.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/crowding.h"
#include "base/mem.h"
#include "base/own_cpus.h"
#include "base/thread.h"
#include "base/wake_word.h"
#include <stdbool.h>
#include <string.h>

// How long a thread spins before it sleeps: longer than the usual wait between two operations of a step, far shorter
// than a time slice of the scheduler.
enum { SPIN_NS = 50000, SPIN_LEAST_NS = 1000, WAITS_PER_TRIAL = 16 };

// If another process uses the cores, our threads share one, and a spinning thread keeps the core from the thread that it
// waits for. So a wait that ends asleep makes the next ones shorter, down to none. A wait that ends while spinning, or an
// occasional trial of full length, restores the full length.
struct patience {
    int64_t spin_ns, full_ns;
    unsigned n_waits;
};

// A thread's times since the last query.
struct use_of_time {
    int64_t wall_ns, cpu_ns, asleep_ns; // asleep: waiting for work
    int64_t wall_begin, cpu_begin;
};

struct worker {
    _Alignas(64) pool *pool; // no two threads write one cache line
    int i_thread;
    thread thread;                       // [0] is the caller's: not ours
    struct patience for_work, for_phase; // of this thread only
    struct use_of_time time;             // likewise
    double lost;                         // part of its time: written before the end of a run that `measures`
    int cpu;                             // where it was then
};

// A thread whose index is not below n_seats when a run ends waits for `seats`; n_runs then says which run to join.
struct pool {
    wake_word work;               // counts runs; workers wait for the next one here
    wake_word phase;              // counts barriers passed
    wake_word seats;              // counts how often n_seats was raised
    _Alignas(64) atomic_int here; // threads that have reached the barrier
    _Alignas(64) int n_threads;
    // Written between runs, before `work` or `seats` is bumped, and read by workers after it.
    pool_fn fn;
    void *ctx;
    int n_running;      // threads of this run
    atomic_int n_seats; // threads of the next one, or more
    unsigned n_runs;    // when n_seats was last raised
    bool measures;      // this run ends with each thread's `lost`
    atomic_bool stop;
    struct crowding crowding;
    int64_t judged_ns;
    struct worker workers[POOL_MAX_THREADS];
};

static void begin_time(struct use_of_time *t) {
    t->wall_begin = clock_now_ns();
    t->cpu_begin = clock_thread_cpu_ns();
}
static void end_time(struct use_of_time *t) {
    t->wall_ns += clock_now_ns() - t->wall_begin;
    t->cpu_ns += clock_thread_cpu_ns() - t->cpu_begin;
}
// Returns the share of the time in which the thread was runnable but did not run, and starts a new measurement.
static double take_lost(struct use_of_time *t) {
    const double lost = t->wall_ns > 0 ? 1.0 - (double)(t->cpu_ns + t->asleep_ns) / (double)t->wall_ns : 0.0;
    *t = (struct use_of_time){0};
    return lost;
}

static void wait_patiently(wake_word *w, unsigned old, struct patience *p, struct use_of_time *t) {
    const bool trial = ++p->n_waits % WAITS_PER_TRIAL == 0;
    const int64_t asleep_ns = wake_word_wait(w, old, trial ? p->full_ns : p->spin_ns);
    t->asleep_ns += asleep_ns;
    if (asleep_ns == 0)
        p->spin_ns = p->full_ns;
    else
        p->spin_ns = p->spin_ns / 2 >= SPIN_LEAST_NS ? p->spin_ns / 2 : 0;
}

// Waits for a seat and sets *n_runs to the runs so far. Returns false when the pool ends.
static bool wait_for_seat(struct worker *self, unsigned *n_runs) {
    pool *p = self->pool;
    for (;;) {
        const unsigned seen = wake_word_read(&p->seats);
        if (atomic_load_explicit(&p->stop, memory_order_relaxed)) return false;
        if (self->i_thread < atomic_load_explicit(&p->n_seats, memory_order_acquire)) break;
        wake_word_wait(&p->seats, seen, 0);
    }
    *n_runs = p->n_runs;
    self->time = (struct use_of_time){0};
    begin_time(&self->time);
    return true;
}

static void *worker_main(void *arg) {
    struct worker *self = arg;
    pool *p = self->pool;
    fp_mode_enter(); // for the thread's lifetime
    begin_time(&self->time);
    for (unsigned n_runs = 0;;) {
        wait_patiently(&p->work, n_runs++, &self->for_work, &self->time);
        if (atomic_load_explicit(&p->stop, memory_order_relaxed)) return NULL;
        p->fn(p->ctx, self->i_thread, p->n_running);
        if (p->measures) {
            end_time(&self->time);
            self->lost = take_lost(&self->time);
            self->cpu = own_cpu_now();
            begin_time(&self->time);
        }
        const bool stays = self->i_thread < atomic_load_explicit(&p->n_seats, memory_order_relaxed);
        pool_barrier(p, self->i_thread); // all of this may change after the barrier
        if (!stays && !wait_for_seat(self, &n_runs)) return NULL;
    }
}

static bool can_all_run_at_once(int n_threads) {
    cpus c;
    cpus_detect("", &c);
    return n_threads <= c.n_affinity && (c.quota == 0 || n_threads <= c.quota);
}

rn_status pool_create(int n_threads, pool **out, rn_error *err) {
    *out = NULL;
    if (n_threads < 1 || n_threads > POOL_MAX_THREADS)
        return fail(err, RN_E_ARG, "threads: %d is outside 1..%d", n_threads, POOL_MAX_THREADS);
    pool *p = mem_aligned(sizeof *p);
    if (!p) return fail(err, RN_E_NOMEM, "thread pool: out of memory");
    memset(p, 0, sizeof *p);
    p->n_threads = p->n_running = 1;
    const bool at_once = can_all_run_at_once(n_threads);
    const int64_t spin_ns =
        at_once ? SPIN_NS : 0; // else a spinning thread keeps the core from the one that it waits for
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
        p->n_threads = p->n_running = i + 1; // workers read it in runs only
    }
    p->n_seats = n_threads;
    crowding_init(&p->crowding, n_threads, at_once);
    *out = p;
    return RN_OK;
}

void pool_destroy(pool *p) {
    if (!p) return;
    atomic_store_explicit(&p->stop, true, memory_order_relaxed);
    wake_word_bump(&p->work);
    wake_word_bump(&p->seats);
    for (int i = 1; i < p->n_threads; i++) thread_join(p->workers[i].thread);
    mem_free(p);
}

int pool_n_threads(const pool *p) { return p->n_threads; }

// A thread that leaves takes part in one more run; one that joins takes part from this run on.
static void give_seats(pool *p, int n) {
    if (n > p->n_running) {
        p->n_running = n;
        p->n_runs = wake_word_read(&p->work);
    }
    const int before = atomic_exchange_explicit(&p->n_seats, n, memory_order_release);
    if (n > before) wake_word_bump(&p->seats);
}

static void run(pool *p, pool_fn fn, void *ctx) {
    const fp_mode callers = fp_mode_enter();
    p->fn = fn;
    p->ctx = ctx;
    if (p->n_running > 1) wake_word_bump(&p->work);
    fn(ctx, 0, p->n_running);
    pool_barrier(p, 0); // also: no worker still reads fn and ctx
    p->n_running = atomic_load_explicit(&p->n_seats, memory_order_relaxed);
    fp_mode_leave(callers);
}

void pool_run(pool *p, pool_fn fn, void *ctx) {
    struct use_of_time *const t = &p->workers[0].time;
    const int64_t asleep_ns = t->asleep_ns;
    if (p->n_running < p->n_threads) give_seats(p, p->n_threads);
    p->measures = false;
    run(p, fn, ctx);
    t->asleep_ns = asleep_ns; // of runs that fit only
}

static double worst_lost(const pool *p, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++)
        if (p->workers[i].lost > worst) worst = p->workers[i].lost;
    return worst;
}

static void place(const pool *p, int n) {
    const thread *threads[POOL_MAX_THREADS] = {0};
    int last[POOL_MAX_THREADS] = {0};
    for (int i = 1; i < p->n_threads; i++) {
        threads[i] = &p->workers[i].thread;
        last[i] = p->workers[i].cpu;
    }
    own_cpus_release(threads, p->n_threads); // also those that are left out now
    if (p->crowding.apart) own_cpus_hold(threads, last, n);
}

void pool_run_fitting(pool *p, pool_fn fn, void *ctx) {
    if (p->n_threads == 1) {
        run(p, fn, ctx);
        return;
    }
    struct worker *const self = &p->workers[0];
    const int64_t now = clock_now_ns();
    p->measures = now - p->judged_ns >= CROWDING_WINDOW_NS;
    give_seats(p, p->crowding.n_active);
    const int n = p->n_running;
    begin_time(&self->time);
    run(p, fn, ctx);
    end_time(&self->time);
    if (!p->measures) return;
    self->lost = take_lost(&self->time);
    p->judged_ns = clock_now_ns();
    crowding_judge(&p->crowding, p->judged_ns, worst_lost(p, n));
    if (p->crowding.changed_ns == p->judged_ns) place(p, p->crowding.n_active);
}

void pool_barrier(pool *p, int i_thread) {
    const int n = p->n_running; // as soon as we are counted, the run may end and the next one have another
    if (n == 1) return;
    const unsigned phase = wake_word_read(&p->phase); // cannot change before we are counted
    // acq_rel: the last to arrive has seen what each wrote before, and hands it on with the bump.
    if (atomic_fetch_add_explicit(&p->here, 1, memory_order_acq_rel) + 1 < n) {
        struct worker *const self = &p->workers[i_thread];
        wait_patiently(&p->phase, phase, &self->for_phase, &self->time);
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
