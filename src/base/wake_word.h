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

// Wait until the value is no longer `old`: spin for spin_ns (0: not at all), then sleep in the kernel. What the
// bumping thread wrote before, the waiting one sees after. Returns how long it slept, until it was woken: not until
// it ran again. 0: it did not sleep.
int64_t wake_word_wait(wake_word *w, unsigned old, int64_t spin_ns);

// Count up and wake all who wait.
void wake_word_bump(wake_word *w);

#endif
