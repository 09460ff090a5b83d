// backend/profile.h - what a backend's steps spend their time on: counters by op record, and who did what when.
//
// Ownership: a backend_profile is the backend's; it is valid until the next backend_profile_begin() or the backend's end.
#ifndef RN_BACKEND_PROFILE_H
#define RN_BACKEND_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One op record, in the order in which a step runs them. Times are of thread 0.
struct backend_op_use {
    const char *kind;   // "linear"
    const char *matrix; // its name, NULL: none
    int32_t layer;      // -1: none
    uint64_t calls;
    uint64_t ns, wait_ns; // at work; then waiting for the other threads
    uint64_t
        bytes; // of weights, keys and values that were read or written, each once a call; activations are not counted
    uint64_t products; // multiplications of matrix elements, or of keys and values, by what they meet
    bool is_int8;      // these are of integers
};

// One op on one thread in one step.
struct backend_event {
    int32_t op, thread;
    uint64_t step;
    int64_t begin_ns, ns; // begin: of base/clock.h
};

struct backend_profile {
    uint64_t n_steps, n_rows;
    uint64_t ns; // of all steps: times and waits of the ops, and what lies before the first one
    const struct backend_op_use *ops;
    size_t n_ops;
    const struct backend_event *events; // of one thread after the other, each in order of time
    size_t n_events;
    uint64_t n_dropped; // events that there was no room for
};

#endif
