// tests/base/own_cpus_test.c - threads that are kept on processors of their own, and let go.
#include "base/own_cpus.h"
#include "tests/check.h"
#include <sched.h>
#include <semaphore.h>

enum { N = 4 };

static sem_t done;

static void *wait_for_the_end(void *arg) {
    (void)arg;
    sem_wait(&done);
    return NULL;
}

// The processors that threads 1 to n - 1 may use, counted; each, where it is one, in cpu[].
static void look(const thread *const threads[], int n, int count[], int cpu[]) {
    for (int i = 1; i < n; i++) {
        cpu_set_t set;
        CHECK_INT(pthread_getaffinity_np(*threads[i], sizeof set, &set), 0);
        count[i] = CPU_COUNT(&set);
        for (cpu[i] = 0; cpu[i] < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu[i], &set);) cpu[i]++;
    }
}

TEST(each_thread_has_a_processor_of_its_own_until_it_is_let_go) {
    thread made[N];
    const thread *threads[N] = {0};
    cpu_set_t allowed;
    CHECK_INT(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    const int n_cpus = CPU_COUNT(&allowed), n = n_cpus < N ? n_cpus : N;
    sem_init(&done, 0, 0);
    for (int i = 1; i < N; i++) {
        rn_error err;
        CHECK_INT(thread_start(&made[i], wait_for_the_end, NULL, &err), RN_OK);
        threads[i] = &made[i];
    }
    int count[N], cpu[N];
    const int all_last[][N] = {{0, 0, 0, 0}, {-1, -1, -1, -1}, {0, 1, 1, 0}, {0, 3, 2, 1}, {9, 99999, -7, 1023}};
    for (size_t k = 0; k < sizeof all_last / sizeof *all_last; k++) {
        const int here = own_cpu_now();
        own_cpus_hold(threads, all_last[k], n);
        const bool moved = own_cpu_now() != here; // this thread itself is free: then nothing is known of it
        look(threads, n, count, cpu);
        for (int i = 1; i < n; i++) {
            CHECK_INT(count[i], 1);
            CHECK(CPU_ISSET((size_t)cpu[i], &allowed) && (moved || cpu[i] != here));
            for (int j = 1; j < i; j++) CHECK(cpu[i] != cpu[j]);
        }
        own_cpus_release(threads, N);
        look(threads, N, count, cpu);
        for (int i = 1; i < N; i++) CHECK_INT(count[i], n_cpus);
    }
    own_cpus_hold(threads, all_last[0], n_cpus < N ? N : n_cpus + 1); // fewer processors than threads
    look(threads, n, count, cpu);
    if (n_cpus < N)
        for (int i = 1; i < n; i++) CHECK_INT(count[i], n_cpus);
    for (int i = 1; i < N; i++) sem_post(&done);
    for (int i = 1; i < N; i++) thread_join(made[i]);
    sem_destroy(&done);
}
