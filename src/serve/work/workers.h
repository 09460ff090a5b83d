// serve/work/workers.h - threads for what would hold up the HTTP thread or the sockets' thread: parsing, tokenizing, templates.
//
// There are three queues, each with threads of its own and in order of arrival: small work never waits behind large work, and neither behind work that
// waits for other machines. Threads for large work, and those that wait, run at a lower priority, so that they leave the processor to the engine's step.
//
// A work item is shared by the thread that added it and a worker. The adding thread either takes the result after done(), or gives the
// item up: then it is dropped if it has not begun, and freed by the worker at its end if it has.
//
// Ownership: workers_open() / workers_close(). Items are their users'; free() is called only for those that were given up.
// Threads:   any; internally locked.
#ifndef RN_SERVE_WORK_WORKERS_H
#define RN_SERVE_WORK_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum work_queue { WORK_SMALL, WORK_LARGE, WORK_FETCHES, WORK_QUEUES } work_queue;
typedef enum work_state { WORK_NEW, WORK_QUEUED, WORK_RUNS, WORK_DONE } work_state;

typedef struct work {
    void (*run)(struct work *w); // on a worker; may block and take long
    // On the worker after run(), unless the item was given up: wakes the thread that takes the result. Called with the workers' lock
    // held, so it must not call workers_*().
    void (*done)(struct work *w);
    void (*free)(struct work *w); // of an item that was given up: on either thread
    // Private to workers.c.
    struct work *next;
    work_queue queue;
    work_state state; // under the workers' lock
    atomic_bool is_given_up;
} work;

typedef struct workers workers;

enum { WORKERS_MIN = 2, WORKERS_MAX = 256, WORK_LARGE_BYTES = 64 << 10 };
int32_t workers_default(void); // half of the processors, 2 to 8
// n_threads: WORKERS_MIN..WORKERS_MAX, half of them (rounded down) for large work. n_fetching: more, for work that fetches; 0: there is none.
// n_queue: items that may wait in each queue. n_memory: bytes that large work takes together. NULL: failed, the error has been printed.
workers *workers_open(int32_t n_threads, int32_t n_fetching, size_t n_queue, uint64_t n_memory);
// Waits for running items. Call when every item has been taken or given up. NULL is fine.
void workers_close(workers *all);

// The queue of a request with this body. Large work: from WORK_LARGE_BYTES on, and with pictures, which are decoded, and a tower reads them. may_fetch: a
// body that has an address goes to the work that fetches.
work_queue work_queue_of(const char *body, size_t n_body, bool may_fetch);
// False: that queue is full; *retry_s is how long it takes at the measured speed until there is room, at least 1.
bool workers_add(workers *all, work *w, work_queue queue, int32_t *retry_s);
bool workers_is_done(workers *all, const work *w);
void workers_give_up(workers *all, work *w);
size_t workers_waiting(workers *all); // items in all queues

// Memory of large work, in bytes: waits, in order, while others have too much of it. False: it is more than all of it.
bool workers_take_memory(workers *all, uint64_t n_bytes);
void workers_give_memory(workers *all, uint64_t n_bytes);

// In run(): has the item that this thread runs been given up? On other threads false. Long work asks between its steps and stops.
bool work_is_given_up(void);
bool work_may_fetch(void); // in run(): is this thread for work that waits for other machines? On other threads false

#endif
