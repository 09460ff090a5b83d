// runnel/measure.h - profiles of where a step's time goes, and the limits of the machine.
#ifndef RUNNEL_MEASURE_H
#define RUNNEL_MEASURE_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

// One operation of the model's program. Times are those of the first computing thread, summed over
// all calls. Owned by the library.
typedef struct rn_profile_op {
    size_t struct_size;
    // "linear", "attend", "rms_norm", ...; "prepare": conversion of activations for the following
    // multiplications.
    const char *kind;
    const char *matrix; // "blk.0.attn_q.weight"; NULL: none
    int32_t layer;      // -1: before or after the layers
    uint64_t calls;
    uint64_t ns;       // computing
    uint64_t wait_ns;  // waiting for the other threads
    uint64_t bytes;    // weights, keys and values read or written, once per call; no activations
    uint64_t products; // multiplications with elements of matrices, keys and values
    bool is_int8;      // they are integer multiplications
} rn_profile_op;

// One operation on one thread in one step. Never grows.
typedef struct rn_profile_event {
    int32_t op;           // index into ops
    int32_t thread;       // 0: the first
    uint64_t step;        // 0: the first since the profile began
    int64_t begin_ns, ns; // begin_ns: since the first event of the profile
} rn_profile_event;

// Owned by the library; freed with rn_profile_free().
typedef struct rn_profile {
    size_t struct_size;
    uint64_t n_steps, n_rows; // evaluated
    uint64_t ns; // total time of these steps: ns and wait_ns of all ops, and the start of each step
    const rn_profile_op *const *ops; // [n_ops], in the order of execution
    size_t n_ops;
    const rn_profile_event *events; // by thread, then by time
    size_t n_events;
    uint64_t n_events_dropped; // later events for which there was no room
} rn_profile;

/**
 * Starts a profile of a model's operations with the next step. Results do not change. A step with
 * rows of several streams counts once.
 *
 * @param n_events  room for events, divided evenly among the threads; 0: no events. An event takes
 *                  32 bytes in the engine, until the next profile begins, and 32 bytes in the
 *                  profile.
 * @return RN_OK; RN_E_ARG; RN_E_STATE (a profile is running); RN_E_NOMEM.
 */
RN_API rn_status rn_profile_begin(rn_engine *engine, size_t model, size_t n_events, rn_error *err);
/**
 * Ends the profile.
 *
 * @param profile  set on RN_OK, else NULL. Freed with rn_profile_free(). Names live as long as the
 *                 engine.
 * @return RN_OK; RN_E_ARG; RN_E_STATE (no profile is running); RN_E_NOMEM (the profile has ended
 *         and is lost).
 */
RN_API rn_status rn_profile_end(rn_engine *engine, size_t model, rn_profile **profile,
                                rn_error *err);
RN_API void rn_profile_free(rn_profile *profile); // NULL is fine

// The throughput limits of all computing threads of an engine together.
typedef struct rn_limits {
    size_t struct_size;
    double read_bytes_s;      // bytes read from memory per second
    double int8_products_s;   // int8 multiplications per second by the kernel set, on registers
    uint64_t read_size_bytes; // size of the buffer that was read
} rn_limits;

/**
 * Measures the limits of the machine: decode is bound by reading weights, prefill by multiplying.
 *
 * Reading: each thread reads its part of one buffer sequentially, with the same prefetch distance
 * (2 KiB) and the same kind of pages as the matrix kernels. The buffer is twice the largest cache,
 * 256 MiB to 1 GiB, but at most an eighth of the engine's memory limit. Multiplying: each thread
 * runs the fastest integer instructions of the kernel set. The best of 5 runs each. Takes about a
 * second; streams wait meanwhile.
 *
 * @param limits  struct_size set; filled on RN_OK.
 * @return RN_OK; RN_E_ARG; RN_E_NOMEM (no memory for the buffer).
 */
RN_API rn_status rn_measure_limits(rn_engine *engine, rn_limits *limits, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
