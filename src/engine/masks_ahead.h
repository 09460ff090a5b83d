// engine/masks_ahead.h - grammars' masks for the tokens that the running step leads to, made while it runs, by a thread of their own.
//
// A stream's grammar has read all of its tokens before a step begins, so the mask of the next draw is known then. It is
// made and remembered by the grammar; the draw finds it there, or makes it. So nothing depends on how far the thread has come.
// Only where the engine's threads leave a processor free: on one that they use, it would delay them by what it saves.
// Ownership: the engine's. Threads: begin and end on the step thread, around a step; need on any.
#ifndef RN_ENGINE_MASKS_AHEAD_H
#define RN_ENGINE_MASKS_AHEAD_H

#include "base/thread.h"
#include <stddef.h>

struct rn_stream;
struct model_slot;

struct masks_ahead {
    bool is_on;
    bool is_made; // lock and conditions
    mutex lock;   // guards all below
    condvar wake, idle;
    thread thread;
    bool has_begun, stops, is_busy;
    struct rn_stream **streams; // [max] of the step, from next on still to be looked at
    size_t n, next, max;
};

// max: streams of a step.
rn_status masks_ahead_init(struct masks_ahead *a, bool is_on, size_t max, rn_error *err);
void masks_ahead_free(struct masks_ahead *a); // all zero is fine
// Starts the thread, once. Errors: RN_E_NOMEM.
rn_status masks_ahead_need(struct masks_ahead *a, rn_error *err);
void masks_ahead_begin(struct masks_ahead *a, const struct model_slot *l);
void masks_ahead_end(struct masks_ahead *a); // waits for at most one mask

#endif
