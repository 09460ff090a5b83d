// base/wake_word.h - a counter that threads wait on: they spin a while, then sleep. Private to base.
//
// Threads: any number may wait; bumps must not race with each other.
#ifndef RN_BASE_WAKE_WORD_H
#define RN_BASE_WAKE_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct wake_word {
    _Alignas(64) atomic_uint value; // a cache line of its own: what spinning threads read is not written for others
    _Alignas(64) atomic_int n_asleep;
    _Atomic int64_t woke_ns; // when those asleep were last woken
} wake_word;                 // all zero = ready

static inline unsigned wake_word_read(const wake_word *w) {
    return atomic_load_explicit(&w->value, memory_order_acquire);
}

// Waits until the value is no longer `old`: spins for spin_ns (0: not at all), then sleeps in the kernel. Writes of the
// bumping thread before the bump are visible to the waiting one. Returns the nanoseconds from falling asleep until the
// wake-up call (not until it ran again); 0: it did not sleep.
int64_t wake_word_wait(wake_word *w, unsigned old, int64_t spin_ns);

// Increments the value and wakes all waiting threads.
void wake_word_bump(wake_word *w);

#endif
