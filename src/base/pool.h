// base/pool.h - the threads that compute: run one function on all of them, with barriers inside.
//
// Workers spin briefly for work, then sleep: an idle pool costs nothing, and a pool on a busy machine yields instead
// of burning the cores its own threads wait for. Every thread that computes runs in one floating-point mode: rounding
// to nearest even, denormals flushed both ways (DAZ, FTZ; FZ on Arm) - docs/arithmetic.md. pool_run() sets that mode
// on the calling thread for the length of the call and puts the old one back.
//
// Results never depend on n_threads: users split by output, never inside a sum.
// Ownership: pool_create() / pool_destroy(). Threads: one caller of pool_run() at a time.
#ifndef RN_BASE_POOL_H
#define RN_BASE_POOL_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define POOL_MAX_THREADS 64

typedef struct pool pool;
typedef void (*pool_fn)(void *ctx, int i_thread, int n_threads);

// n_threads in 1..POOL_MAX_THREADS (RN_E_ARG), the caller included: n_threads - 1 workers are started.
rn_status pool_create(int n_threads, pool **out, rn_error *err);
void pool_destroy(pool *p); // NULL is fine
int pool_n_threads(const pool *p);

// Call fn(ctx, i, n) on all n threads, the caller being i = 0; returns when all have returned. No allocation.
void pool_run(pool *p, pool_fn fn, void *ctx);
// The same on 1 to n_threads threads: n is smaller while other programs want the cores, and so many threads would wait for each other
// longer than they compute (base/crowding.h). It does not change during a run.
void pool_run_fitting(pool *p, pool_fn fn, void *ctx);
// Inside fn: wait until every thread of the run is here. What any wrote before, all see after.
void pool_barrier(pool *p, int i_thread);

// The part of 0..n that thread i of n_threads takes, in multiples of `grain` but for the end.
void pool_share(size_t n, size_t grain, int i_thread, int n_threads, size_t *begin, size_t *end);

// The floating-point mode of computing threads, for callers that compute outside a pool (tests, sampling).
typedef struct fp_mode {
    uint64_t saved;
} fp_mode;
fp_mode fp_mode_enter(void);
void fp_mode_leave(fp_mode m);

#endif
