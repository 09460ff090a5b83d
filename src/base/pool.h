// base/pool.h - the compute threads: run one function on all of them, with barriers inside.
//
// Workers spin briefly for work, then sleep: an idle pool costs nothing, and a pool on a busy machine yields instead
// of occupying the cores that its own threads wait for. Compute threads run in one floating-point mode: rounding to nearest
// even, denormal inputs and results flushed to zero (DAZ, FTZ; FZ on Arm) - docs/arithmetic.md. pool_run() sets that mode
// on the calling thread during the call and restores the old one.
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

// Calls fn(ctx, i, n) on all n threads, with i = 0 on the caller's. Returns when all have returned. Does not allocate.
void pool_run(pool *p, pool_fn fn, void *ctx);
// The same on 1 to n_threads threads: n is smaller while other programs use the cores and more threads would mostly wait for each
// other (base/crowding.h). n does not change during a run.
void pool_run_fitting(pool *p, pool_fn fn, void *ctx);
// Inside fn: waits until every thread of the run has arrived. Writes before the barrier are visible to all after it.
void pool_barrier(pool *p, int i_thread);

// The part of 0..n that thread i of n_threads takes, in multiples of `grain` but for the end.
void pool_share(size_t n, size_t grain, int i_thread, int n_threads, size_t *begin, size_t *end);

// The floating-point mode of compute threads, for callers that compute outside a pool (tests, sampling).
typedef struct fp_mode {
    uint64_t saved;
} fp_mode;
fp_mode fp_mode_enter(void);
void fp_mode_leave(fp_mode m);

#endif
