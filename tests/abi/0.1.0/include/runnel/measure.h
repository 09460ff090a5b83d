// runnel/measure.h - where the time of a step goes, and what the machine could do at most.
#ifndef RUNNEL_MEASURE_H
#define RUNNEL_MEASURE_H

#include <runnel/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

// One operation of the model's program: times of all its calls, as the first of the computing
// threads saw them. The library's.
typedef struct rn_profile_op {
    size_t struct_size;
    const char
        *kind; // "linear", "attend", "rms_norm", ...; "prepare": activations made ready for the products behind it
    const char *matrix; // "blk.0.attn_q.weight"; NULL: none
    int32_t layer;      // -1: before or after the layers
    uint64_t calls;
    uint64_t ns, wait_ns; // at work, and then waiting for the other threads
    uint64_t bytes;    // of weights, keys and values read or written, each once a call; activations are not counted
    uint64_t products; // multiplications with elements of matrices, keys and values
    bool is_int8;      // these multiply integers
} rn_profile_op;

// One operation on one thread in one step. Never grows.
typedef struct rn_profile_event {
    int32_t op;           // index into ops
    int32_t thread;       // 0: the first
    uint64_t step;        // 0: the first since the profile began
    int64_t begin_ns, ns; // begin: since the first event of the profile
} rn_profile_event;

// The library's.
typedef struct rn_profile {
    size_t struct_size;
    uint64_t n_steps, n_rows; // evaluated
    uint64_t ns; // of these steps: the sum over ops of ns and wait_ns, and a little before the first op of each
    const rn_profile_op *const *ops; // [n_ops], in the order of a step
    size_t n_ops;
    const rn_profile_event *events; // thread after thread, each in order of time
    size_t n_events;
    uint64_t n_events_dropped; // there was no room for them: the latest ones
} rn_profile;

/**
 * Count, from the next step on, what a model's operations take. Nothing that is computed changes; while no profile runs it costs
 * nothing. Steps that evaluate rows of several streams count once.
 *
 * @param n_events  room for events, shared evenly by the threads; 0: none are kept. An event takes 32 bytes in the engine, until the
 *                  next profile begins, and 32 in the profile.
 * @return RN_OK; RN_E_ARG; RN_E_STATE (one is running); RN_E_NOMEM.
 */
RN_API rn_status rn_profile_begin(rn_engine *engine, size_t model, size_t n_events, rn_error *err);
/**
 * Stop counting.
 *
 * @param profile  on RN_OK the caller's, freed with rn_profile_free(); else NULL. Its names live as long as the engine.
 * @return RN_OK; RN_E_ARG; RN_E_STATE (none is running); RN_E_NOMEM (it has stopped, and what it counted is lost).
 */
RN_API rn_status rn_profile_end(rn_engine *engine, size_t model, rn_profile **profile, rn_error *err);
RN_API void rn_profile_free(rn_profile *profile); // NULL is fine

// What all computing threads of an engine together can do at most.
typedef struct rn_limits {
    size_t struct_size;
    double read_bytes_s;      // memory read
    double int8_products_s;   // multiplications of bytes by the engine's kernel set, out of registers
    uint64_t read_size_bytes; // of the memory that was read
} rn_limits;

/**
 * Measure the machine, beside which the engine's speed can be read: generation is bound by reading weights, a prompt by multiplying.
 *
 * Each thread reads its part of one buffer, 64 bytes after 64 bytes in order, with the prefetch of the matrix kernels (into the first
 * cache, 2 KiB ahead) and in the pages that repacked weights have (huge ones are advised). The buffer is twice the largest cache, 256
 * MiB to 1 GiB, but at most an eighth of the engine's memory limit. Then each multiplies with the fastest integer instructions of the set.
 * The best of 5 runs of each. Takes about a second; streams wait meanwhile.
 *
 * @param limits  struct_size set; filled on RN_OK.
 * @return RN_OK; RN_E_ARG; RN_E_NOMEM (no room for the buffer).
 */
RN_API rn_status rn_measure_limits(rn_engine *engine, rn_limits *limits, rn_error *err);

#ifdef __cplusplus
}
#endif
#endif
