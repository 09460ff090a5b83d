// base/thread.c - threads, locks and waiting, thin over pthreads.
#include "base/thread.h"
#include "base/fault.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

// Converts errno value e (0: success) to a status. All failures here are lack of resources.
static rn_status done(int e, const char *what, rn_error *err) {
    return e == 0 ? RN_OK : fail(err, RN_E_NOMEM, "%s: cannot be created: %s", what, strerrordesc_np(e));
}

rn_status thread_start(thread *t, void *(*fn)(void *), void *arg, rn_error *err) {
    if (fault_here()) return done(EAGAIN, "thread", err);
    // A signal belongs to the program's own threads: a library's thread must never run its handlers.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int e = pthread_create(t, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done(e, "thread", err);
}
void thread_join(thread t) { pthread_join(t, NULL); }

rn_status mutex_init(mutex *m, rn_error *err) {
    return done(fault_here() ? ENOMEM : pthread_mutex_init(m, NULL), "mutex", err);
}
void mutex_destroy(mutex *m) { pthread_mutex_destroy(m); }
void mutex_lock(mutex *m) { pthread_mutex_lock(m); }
void mutex_unlock(mutex *m) { pthread_mutex_unlock(m); }

rn_status condvar_init(condvar *c, rn_error *err) {
    if (fault_here()) return done(ENOMEM, "condition variable", err);
    pthread_condattr_t attr;
    int e = pthread_condattr_init(&attr);
    if (e == 0) {
        e = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        if (e == 0) e = pthread_cond_init(c, &attr);
        pthread_condattr_destroy(&attr);
    }
    return done(e, "condition variable", err);
}
void condvar_destroy(condvar *c) { pthread_cond_destroy(c); }
void condvar_signal(condvar *c) { pthread_cond_signal(c); }
void condvar_broadcast(condvar *c) { pthread_cond_broadcast(c); }

bool condvar_wait(condvar *c, mutex *m, int64_t deadline_ns) {
    if (deadline_ns < 0) return pthread_cond_wait(c, m) == 0;
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = deadline_ns % 1000000000};
    return pthread_cond_timedwait(c, m, &until) == 0;
}
