// serve/work/workers.c - see workers.h.
#include "serve/work/workers.h"
#include "app/memory.h"
#include "app/progress.h"
#include "app/say.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// On a processor that a thread of the engine uses all the time, a worker for large work gets a quarter with this.
enum { NICER = 5, RETRY_MAX_S = 60, TRIM_BYTES = 8 << 20 };

typedef struct queue {
    work *first, **end;
    size_t n, n_threads;
    double mean_s; // of the last items; 0: none yet
    pthread_cond_t changed;
    int nicer;
} queue;

typedef struct worker {
    workers *all;
    queue *q;
    pthread_t thread;
} worker;

struct workers {
    size_t n_queue;
    uint64_t n_memory;
    pthread_mutex_t lock;
    pthread_cond_t memory_changed;
    // lock
    queue queues[WORK_QUEUES];
    bool is_ending;
    uint64_t n_taken, next_place, next_turn; // of n_memory; of those that wait for it
    size_t n_threads;
    worker threads[];
};

static _Thread_local const work *current;

int32_t workers_default(void) {
    const long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    return half < WORKERS_MIN ? WORKERS_MIN : half > 8 ? 8 : (int32_t)half;
}

static void note_time(queue *q, double seconds) {
    q->mean_s = q->mean_s > 0 ? 0.9 * q->mean_s + 0.1 * seconds : seconds;
}

// With the lock held, which is released while the item runs.
static void run_item(workers *all, queue *q, work *w) {
    const int64_t begin_ns = now_ns();
    w->state = WORK_RUNS;
    pthread_mutex_unlock(&all->lock);
    current = w;
    memory_forget();
    w->run(w);
    current = NULL;
    pthread_mutex_lock(&all->lock);
    note_time(q, (double)(now_ns() - begin_ns) / 1e9);
    w->state = WORK_DONE;
    if (!atomic_load(&w->is_given_up)) {
        w->done(w); // the item may be freed as soon as the lock is released
        return;
    }
    pthread_mutex_unlock(&all->lock);
    w->free(w);
    pthread_mutex_lock(&all->lock);
}

static void *run(void *user) {
    worker *const me = user;
    workers *const all = me->all;
    queue *const q = me->q;
    const id_t thread = (id_t)gettid(); // Linux counts the niceness of each thread
    if (q->nicer) (void)setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + q->nicer);
    pthread_mutex_lock(&all->lock);
    for (;;) {
        work *const w = q->first;
        if (w) {
            q->first = w->next;
            if (!q->first) q->end = &q->first;
            q->n--;
            run_item(all, q, w);
        } else if (all->is_ending) {
            break;
        } else {
            pthread_cond_wait(&q->changed, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

// Of thread i: by turns one for small and one for large work, then those that fetch.
static work_queue queue_of_thread(size_t i, int32_t n_threads) {
    return i >= (size_t)n_threads ? WORK_FETCHES : i % 2 ? WORK_LARGE : WORK_SMALL;
}

workers *workers_open(int32_t n_threads, int32_t n_fetching, size_t n_queue, uint64_t n_memory) {
    const size_t n_all = (size_t)n_threads + (size_t)n_fetching;
    workers *const all = app_alloc(sizeof *all + n_all * sizeof *all->threads);
    if (!all) return NULL;
    all->n_queue = n_queue;
    all->n_memory = n_memory;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->memory_changed, NULL);
    for (int i = 0; i < WORK_QUEUES; i++) {
        all->queues[i].end = &all->queues[i].first;
        pthread_cond_init(&all->queues[i].changed, NULL);
    }
    all->queues[WORK_LARGE].nicer = all->queues[WORK_FETCHES].nicer = NICER;
    int why = 0;
    for (; all->n_threads < n_all && !why; all->n_threads += !why) {
        worker *const t = &all->threads[all->n_threads];
        *t = (worker){.all = all, .q = &all->queues[queue_of_thread(all->n_threads, n_threads)]};
        t->q->n_threads++;
        why = pthread_create(&t->thread, NULL, run, t);
    }
    if (!why) return all;
    say("--workers %d: %s", n_threads, strerror(why));
    workers_close(all);
    return NULL;
}

void workers_close(workers *all) {
    if (!all) return;
    pthread_mutex_lock(&all->lock);
    all->is_ending = true;
    for (int i = 0; i < WORK_QUEUES; i++) pthread_cond_broadcast(&all->queues[i].changed);
    pthread_mutex_unlock(&all->lock);
    for (size_t i = 0; i < all->n_threads; i++) pthread_join(all->threads[i].thread, NULL);
    for (int i = 0; i < WORK_QUEUES; i++) pthread_cond_destroy(&all->queues[i].changed);
    pthread_cond_destroy(&all->memory_changed);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static int32_t retry_of(const queue *q) {
    const double s = q->mean_s * (double)q->n / (double)q->n_threads;
    return s < 1 ? 1 : s > RETRY_MAX_S ? RETRY_MAX_S : (int32_t)s + 1;
}

work_queue work_queue_of(const char *body, size_t n_body, bool may_fetch) {
    static const char *const signs[] = {"data:image/", "\"media_type\"", "\"images\"", "\"image_data\"",
                                        "\"multimodal_data\""};
    static const char address[] = "\"http"; // an address written otherwise is refused: work_may_fetch()
    if (may_fetch && memmem(body, n_body, address, sizeof address - 1)) return WORK_FETCHES;
    if (n_body >= WORK_LARGE_BYTES) return WORK_LARGE;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (memmem(body, n_body, signs[i], strlen(signs[i]))) return WORK_LARGE;
    return WORK_SMALL;
}

bool workers_add(workers *all, work *w, work_queue queue_of, int32_t *retry_s) {
    queue *const q = &all->queues[queue_of];
    pthread_mutex_lock(&all->lock);
    const bool is_room = q->n < all->n_queue;
    if (is_room) {
        w->queue = queue_of;
        w->state = WORK_QUEUED;
        w->next = NULL;
        *q->end = w;
        q->end = &w->next;
        q->n++;
        pthread_cond_signal(&q->changed);
    } else
        *retry_s = retry_of(q);
    pthread_mutex_unlock(&all->lock);
    return is_room;
}

bool workers_is_done(workers *all, const work *w) {
    pthread_mutex_lock(&all->lock);
    const bool is_done = w->state == WORK_DONE;
    pthread_mutex_unlock(&all->lock);
    return is_done;
}

static void remove_waiting(queue *q, work *w) {
    work **at = &q->first;
    while (*at != w) at = &(*at)->next;
    *at = w->next;
    if (q->end == &w->next) q->end = at;
    q->n--;
}

void workers_give_up(workers *all, work *w) {
    pthread_mutex_lock(&all->lock);
    const bool runs = w->state == WORK_RUNS;
    if (w->state == WORK_QUEUED) remove_waiting(&all->queues[w->queue], w);
    atomic_store(&w->is_given_up, true);
    pthread_mutex_unlock(&all->lock);
    if (!runs) w->free(w);
}

size_t workers_waiting(workers *all) {
    pthread_mutex_lock(&all->lock);
    size_t n = 0;
    for (int i = 0; i < WORK_QUEUES; i++) n += all->queues[i].n;
    pthread_mutex_unlock(&all->lock);
    return n;
}

bool workers_take_memory(workers *all, uint64_t n_bytes) {
    if (n_bytes > all->n_memory) return false;
    pthread_mutex_lock(&all->lock);
    const uint64_t place = all->next_place++;
    while (all->next_turn != place || n_bytes > all->n_memory - all->n_taken)
        pthread_cond_wait(&all->memory_changed, &all->lock);
    all->next_turn++;
    all->n_taken += n_bytes;
    pthread_cond_broadcast(&all->memory_changed);
    pthread_mutex_unlock(&all->lock);
    return true;
}

void workers_give_memory(workers *all, uint64_t n_bytes) {
    // Otherwise what one thread has freed stays with it while another one takes as much anew.
    if (n_bytes >= TRIM_BYTES) memory_give_back();
    pthread_mutex_lock(&all->lock);
    all->n_taken -= n_bytes;
    pthread_cond_broadcast(&all->memory_changed);
    pthread_mutex_unlock(&all->lock);
}

bool work_is_given_up(void) { return current && atomic_load(&current->is_given_up); }

bool work_may_fetch(void) { return current && current->queue == WORK_FETCHES; }
