// base/wake_word.c - a counter that threads wait on: they spin a while, then sleep.
#include "base/wake_word.h"
#include "base/clock.h"
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOKS_PER_CLOCK = 16 };

static void cpu_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile(
        "isb"); // `yield` does nothing on most cores; a pipeline flush waits about as long as x86's pause
#endif
}

// By the clock, not by a count: a pause takes from 10 to 150 cycles, depending on the CPU.
static bool spin(const wake_word *w, unsigned old, int64_t spin_ns) {
    for (int64_t until = 0;;) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (wake_word_read(w) != old) return true;
            cpu_pause();
        }
        const int64_t now = clock_now_ns();
        if (!until) until = now + spin_ns;
        if (now >= until) return false;
    }
}

int64_t wake_word_wait(wake_word *w, unsigned old, int64_t spin_ns) {
    if (spin_ns > 0 && spin(w, old, spin_ns)) return 0;
    // Both sides write one word, then read the other, in one order for all (seq_cst): either the bump sees us asleep
    // and wakes us, or we see its value; a wake between our look and our sleep is caught by the kernel's comparison.
    int64_t begin = 0;
    atomic_fetch_add(&w->n_asleep, 1);
    while (atomic_load(&w->value) == old) {
        if (!begin) begin = clock_now_ns();
        syscall(SYS_futex, &w->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    }
    atomic_fetch_sub(&w->n_asleep, 1);
    if (!begin) return 0;
    const int64_t woke = atomic_load_explicit(&w->woke_ns, memory_order_relaxed); // before `begin`: not yet written
    return (woke > begin ? woke : clock_now_ns()) - begin;
}

void wake_word_bump(wake_word *w) {
    atomic_fetch_add(&w->value, 1);
    if (atomic_load(&w->n_asleep) == 0) return;
    atomic_store_explicit(&w->woke_ns, clock_now_ns(), memory_order_relaxed);
    syscall(SYS_futex, &w->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
