// base/thread.h - threads, locks and waiting, thin over pthreads. Creation can fail (and be made to, by mem_fail_after).
#ifndef RN_BASE_THREAD_H
#define RN_BASE_THREAD_H

#include "base/status.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_t thread;
typedef pthread_mutex_t mutex;
typedef pthread_cond_t condvar; // on the monotonic clock

rn_status thread_start(thread *t, void *(*fn)(void *), void *arg, rn_error *err); // signals blocked in the new thread
void thread_join(thread t);
rn_status mutex_init(mutex *m, rn_error *err);
void mutex_destroy(mutex *m);
void mutex_lock(mutex *m);
void mutex_unlock(mutex *m);
rn_status condvar_init(condvar *c, rn_error *err);
void condvar_destroy(condvar *c);
void condvar_signal(condvar *c);
void condvar_broadcast(condvar *c);
// Wait with m held until signalled or until deadline_ns of clock_now_ns() (negative: no limit). false: time is up.
bool condvar_wait(condvar *c, mutex *m, int64_t deadline_ns);

#endif
