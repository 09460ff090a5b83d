// backend/profile.h - where the time of a backend's steps goes: counters for each operation, and
// events.
//
// Ownership: a backend_profile belongs to the backend and is valid until its next
// backend_profile_begin() or backend_destroy().
#ifndef RN_BACKEND_PROFILE_H
#define RN_BACKEND_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One operation of the program, in the order in which a step runs them. Times are those of thread
// 0.
struct backend_op_use {
    const char *kind;   // "linear"
    const char *matrix; // name of its weights; NULL: none
    int32_t layer;      // -1: none
    uint64_t calls;
    uint64_t ns, wait_ns; // computing; waiting for the other threads afterwards
    // Weights, keys and values read or written, each counted once per call. Activations are not
    // counted.
    uint64_t bytes;
    uint64_t products; // multiplications with elements of matrices, keys or values
    bool is_int8;      // the products are of integers
};

// One operation on one thread in one step.
struct backend_event {
    int32_t op, thread;
    uint64_t step;
    int64_t begin_ns, ns; // start on the clock of base/clock.h; duration
};

struct backend_profile {
    uint64_t n_steps, n_rows;
    uint64_t ns; // of all steps: the operations' times and waits, and the time before the first one
    const struct backend_op_use *ops;
    size_t n_ops;
    const struct backend_event *events; // thread after thread, each in order of time
    size_t n_events;
    uint64_t n_dropped; // events beyond n_events of backend_profile_begin()
};

#endif
