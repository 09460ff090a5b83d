// tests/base/thread_test.c - threads, locks, waiting with and without a deadline.
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "tests/check.h"
#include <signal.h>

struct shared {
    mutex lock;
    condvar changed;
    int n;
    bool signals_blocked;
};

static void *add_many(void *arg) {
    struct shared *s = arg;
    for (int i = 0; i < 1000; i++) {
        mutex_lock(&s->lock);
        s->n++;
        mutex_unlock(&s->lock);
    }
    mutex_lock(&s->lock);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    s->signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM);
    condvar_broadcast(&s->changed);
    mutex_unlock(&s->lock);
    return NULL;
}

static rn_status count_with_threads(void *user) {
    enum { N = 3 };
    struct shared *s = user;
    thread t[N];
    int n_started = 0;
    rn_error err = {0};
    s->n = 0;
    rn_status st = mutex_init(&s->lock, &err);
    if (st != RN_OK) return st;
    if ((st = condvar_init(&s->changed, &err)) == RN_OK) {
        while (n_started < N && (st = thread_start(&t[n_started], add_many, s, &err)) == RN_OK) n_started++;
        mutex_lock(&s->lock);
        while (s->n < 1000 * n_started) condvar_wait(&s->changed, &s->lock, -1);
        mutex_unlock(&s->lock);
        for (int i = 0; i < n_started; i++) thread_join(t[i]);
        condvar_destroy(&s->changed);
    }
    mutex_destroy(&s->lock);
    return st;
}

TEST(threads_count_under_a_lock_with_signals_blocked) {
    struct shared s = {0};
    CHECK_OK(count_with_threads(&s), NULL);
    CHECK_INT(s.n, 3000);
    CHECK(s.signals_blocked);
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    CHECK(!sigismember(&mine, SIGINT)); // the starting thread's mask is as before
}

TEST(each_refused_lock_and_thread_is_reported) {
    struct shared s = {0};
    CHECK(check_each_failed_allocation(count_with_threads, &s, __FILE__, __LINE__));
    rn_error err = {0};
    thread t;
    mem_fail_after(1);
    CHECK_FAILS(thread_start(&t, add_many, &s, &err), RN_E_NOMEM, &err);
    mem_fail_after(0);
    CHECK_HAS(err.text, "thread: ");
}

TEST(a_wait_ends_at_its_deadline) {
    struct shared s = {0};
    CHECK_OK(mutex_init(&s.lock, NULL), NULL);
    CHECK_OK(condvar_init(&s.changed, NULL), NULL);
    mutex_lock(&s.lock);
    CHECK(!condvar_wait(&s.changed, &s.lock, 0)); // long past
    const int64_t until = clock_now_ns() + 20000000;
    while (condvar_wait(&s.changed, &s.lock, until)) {
    } // woken for no reason: again
    CHECK(clock_now_ns() >= until);
    mutex_unlock(&s.lock);
    condvar_destroy(&s.changed);
    mutex_destroy(&s.lock);
}
