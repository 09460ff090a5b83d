// tests/base/pool_test.c - the thread pool: every thread once, barriers that order memory, nothing when idle.
#include "base/mem.h"
#include "base/pool.h"
#include "tests/check.h"
#include <fenv.h>
#include <float.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

enum { N_PHASES = 12 };

struct turns {
    pool *pool;
    int calls[POOL_MAX_THREADS]; // plain memory: ordered by the pool or not at all
    int wrote[N_PHASES][POOL_MAX_THREADS];
    atomic_int n_wrong;
};

// Each thread writes its place, waits, and must then find what every other wrote before the barrier.
static void write_wait_read(void *ctx, int i, int n) {
    struct turns *t = ctx;
    t->calls[i]++;
    for (int phase = 0; phase < N_PHASES; phase++) {
        t->wrote[phase][i] = t->calls[i] * 100 + phase;
        pool_barrier(t->pool, i);
        for (int k = 0; k < n; k++)
            if (t->wrote[phase][k] != t->calls[i] * 100 + phase) atomic_fetch_add(&t->n_wrong, 1);
    }
}

TEST(all_threads_run_once_and_meet_at_every_barrier) {
    static const int counts[] = {1, 2, 3, 4, 7, 16, 33, 64};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const int n = counts[c], n_runs = n <= 4 ? 300 : 15;
        struct turns t = {0};
        rn_error err = {0};
        check_note("%d threads", n);
        if (!CHECK_OK(pool_create(n, &t.pool, &err), &err)) return;
        CHECK_INT(pool_n_threads(t.pool), n);
        for (int run = 1; run <= n_runs; run++) {
            pool_run(t.pool, write_wait_read, &t);
            for (int i = 0; i < POOL_MAX_THREADS; i++)
                if (!CHECK_INT(t.calls[i], i < n ? run : 0)) break;
        }
        CHECK_INT(t.n_wrong, 0);
        pool_destroy(t.pool);
    }
    pool_destroy(NULL);
}

// Those below n, each once; n is the same for all of them.
struct fitting {
    struct turns t;
    int n[POOL_MAX_THREADS];
};
static void count_threads(void *ctx, int i, int n) {
    struct fitting *f = ctx;
    f->n[i] = n;
    write_wait_read(&f->t, i, n);
}

TEST(a_run_that_fits_has_some_of_the_threads_and_a_run_of_all_has_all) {
    static const int counts[] = {1, 2, 3, 8, 64}; // many more than cores: most are soon left out
    static struct fitting f;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        rn_error err = {0};
        f = (struct fitting){0};
        if (!CHECK_OK(pool_create(counts[c], &f.t.pool, &err), &err)) return;
        const int n_runs = counts[c] <= 3 ? 2000 : 200;
        for (int run = 1; run <= n_runs; run++) {
            int before[POOL_MAX_THREADS];
            const bool all = run % 50 == 0;
            for (int i = 0; i < POOL_MAX_THREADS; i++) before[i] = f.t.calls[i] = run;
            (all ? pool_run : pool_run_fitting)(f.t.pool, count_threads, &f);
            const int n = f.n[0];
            check_note("run %d of %d threads", run, counts[c]);
            if (!CHECK(n >= 1 && n <= counts[c] && (!all || n == counts[c]))) break;
            for (int i = 0; i < POOL_MAX_THREADS; i++) {
                CHECK_INT(f.t.calls[i] - before[i], i < n);
                if (i < n) CHECK_INT(f.n[i], n);
            }
        }
        CHECK_INT(f.t.n_wrong, 0);
        pool_destroy(f.t.pool);
    }
}

static void sleep_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static void late_thread(void *ctx, int i, int n) {
    struct turns *t = ctx;
    if (i == n - 1) sleep_ms(3); // far longer than anyone spins
    write_wait_read(ctx, i, n);
    if (i == 0) sleep_ms(3);
    pool_barrier(t->pool, i);
}

TEST(threads_that_have_gone_to_sleep_are_woken) {
    struct turns t = {0};
    rn_error err = {0};
    if (!CHECK_OK(pool_create(3, &t.pool, &err), &err)) return;
    for (int run = 0; run < 10; run++) {
        pool_run(t.pool, late_thread, &t);
        sleep_ms(2);
    }
    for (int i = 0; i < 3; i++) CHECK_INT(t.calls[i], 10);
    CHECK_INT(t.n_wrong, 0);
    pool_destroy(t.pool);
}

TEST(a_pool_of_no_or_too_many_threads_is_refused) {
    static const int counts[] = {-1, 0, POOL_MAX_THREADS + 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        rn_error err = {0};
        pool *p = (pool *)&err;
        CHECK_FAILS(pool_create(counts[i], &p, &err), RN_E_ARG, &err);
        CHECK(!p);
        CHECK_HAS(err.text, "is outside 1..64");
    }
}

static rn_status make_a_pool(void *user) {
    (void)user;
    pool *p;
    const rn_status st = pool_create(5, &p, NULL);
    pool_destroy(p);
    return st;
}
TEST(a_pool_survives_each_refused_thread) {
    CHECK(check_each_failed_allocation(make_a_pool, NULL, __FILE__, __LINE__));
    rn_error err = {0};
    pool *p;
    mem_fail_after(3);
    CHECK_FAILS(pool_create(5, &p, &err), RN_E_NOMEM, &err);
    mem_fail_after(0);
    CHECK_HAS(err.text, "thread pool: worker 2 of 4: ");
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

TEST(an_idle_pool_costs_nothing_and_a_run_allocates_nothing) {
    struct turns t = {0};
    if (!CHECK_OK(pool_create(4, &t.pool, NULL), NULL)) return;
    const long count = mem_count();
    pool_run(t.pool, write_wait_read, &t);
    CHECK_INT(mem_count(), count);
    sleep_ms(20);
    const double before = cpu_seconds();
    sleep_ms(300);
    CHECK(cpu_seconds() - before < 0.03);
    pool_destroy(t.pool);
}

struct modes {
    float flushed[POOL_MAX_THREADS], as_zero[POOL_MAX_THREADS], nearest[POOL_MAX_THREADS];
};

// volatile: computed here and now, not by the compiler.
static void compute_at_the_edges(void *ctx, int i, int n) {
    (void)n;
    struct modes *m = ctx;
    volatile float least = FLT_MIN, denormal = FLT_TRUE_MIN, half = 0.5f, big = 0x1p24f, one = 1.0f, tiny = 0x1p-30f;
    m->flushed[i] = least * half;   // a denormal result
    m->as_zero[i] = denormal * big; // a denormal input: 2^-125 without DAZ
    m->nearest[i] = one + tiny;     // above 1 when rounded upwards
}

TEST(every_computing_thread_flushes_denormals_and_rounds_to_nearest) {
    enum { N = 3 };
    struct modes m;
    pool *p;
    if (!CHECK_OK(pool_create(N, &p, NULL), NULL)) return;
    fesetround(FE_UPWARD); // a caller with habits of its own
    pool_run(p, compute_at_the_edges, &m);
    const int after = fegetround();
    fesetround(FE_TONEAREST);
    CHECK_INT(after, FE_UPWARD); // put back
    for (int i = 0; i < N; i++) {
        check_note("thread %d", i);
        CHECK(m.flushed[i] == 0 && m.as_zero[i] == 0 && m.nearest[i] == 1);
    }
    compute_at_the_edges(&m, 0, 1);
    CHECK(m.flushed[0] != 0 && m.as_zero[0] != 0);
    pool_destroy(p);
}

TEST(the_mode_can_be_entered_outside_a_pool) {
    struct modes m;
    const fp_mode before = fp_mode_enter();
    compute_at_the_edges(&m, 0, 1);
    fp_mode_leave(before);
    CHECK(m.flushed[0] == 0 && m.as_zero[0] == 0);
    compute_at_the_edges(&m, 0, 1);
    CHECK(m.flushed[0] != 0 && m.as_zero[0] != 0);
}

TEST(shares_cover_everything_once_in_whole_grains) {
    static const size_t lengths[] = {0, 1, 15, 16, 17, 100, 1024, 1025, 32000}, grains[] = {1, 2, 16, 48};
    static const int counts[] = {1, 2, 3, 7, 64};
    for (size_t a = 0; a < sizeof lengths / sizeof *lengths; a++)
        for (size_t b = 0; b < sizeof grains / sizeof *grains; b++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                const size_t n = lengths[a], grain = grains[b];
                size_t next = 0, least = SIZE_MAX, most = 0;
                check_note("%zu by %zu over %d", n, grain, counts[c]);
                for (int i = 0; i < counts[c]; i++) {
                    size_t begin, end;
                    pool_share(n, grain, i, counts[c], &begin, &end);
                    CHECK_INT(begin, next);
                    CHECK(end >= begin && end <= n && (end % grain == 0 || end == n));
                    const size_t n_grains = (end - begin + grain - 1) / grain;
                    if (n_grains < least) least = n_grains;
                    if (n_grains > most) most = n_grains;
                    next = end;
                }
                CHECK_INT(next, n);
                CHECK(most - least <= 1);
            }
}
