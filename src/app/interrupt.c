// app/interrupt.c - a flag set by SIGINT.
#include "app/interrupt.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int came; // set by the signal handler; the engine's threads read it too

static void note(int number) { atomic_store_explicit(&came, number, memory_order_relaxed); }

void interrupt_catch(void) {
    struct sigaction was;
    // Shells start background jobs of scripts with SIGINT ignored; it stays ignored.
    if (sigaction(SIGINT, NULL, &was) == 0 && was.sa_handler == SIG_IGN) return;
    struct sigaction act = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
}

void interrupt_again(void) {
    atomic_store_explicit(&came, 0, memory_order_relaxed);
    interrupt_catch();
}

bool interrupt_came(void) { return atomic_load_explicit(&came, memory_order_relaxed) != 0; }
