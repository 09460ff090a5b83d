// tests/serve/workers_test.c - work on threads of its own: its order, full queues, and items that are given up.
#include "serve/work/workers.h"
#include "tests/check.h"
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

typedef struct item {
    work w; // first
    sem_t begun, go, ended;
    atomic_int n_freed;
    bool was_given_up; // as it saw itself at its end
    int order;
} item;
static atomic_int n_begun;

static void run(work *w) {
    item *const i = (item *)w;
    i->order = atomic_fetch_add(&n_begun, 1);
    sem_post(&i->begun);
    sem_wait(&i->go);
    i->was_given_up = work_is_given_up();
}
static void done(work *w) { sem_post(&((item *)w)->ended); }
static void free_item(work *w) {
    atomic_fetch_add(&((item *)w)->n_freed, 1);
    sem_post(&((item *)w)->ended);
}

static void init(item *i) {
    memset(i, 0, sizeof *i);
    i->w = (work){.run = run, .done = done, .free = free_item};
    sem_init(&i->begun, 0, 0);
    sem_init(&i->go, 0, 0);
    sem_init(&i->ended, 0, 0);
}

static bool add(workers *all, item *i, work_queue queue) {
    int32_t retry_s = 0;
    const bool is_in = workers_add(all, &i->w, queue, &retry_s);
    if (!is_in) CHECK(retry_s >= 1);
    return is_in;
}

static void let_go(item *i) {
    sem_post(&i->go);
    sem_wait(&i->ended);
}

TEST(small_work_does_not_wait_behind_large_work) {
    static item large[2], small;
    workers *const all = workers_open(WORKERS_MIN, 0, 4, 1 << 20);
    init(&large[0]), init(&large[1]), init(&small);
    CHECK(add(all, &large[0], WORK_LARGE) && add(all, &large[1], WORK_LARGE));
    sem_wait(&large[0].begun); // and now holds the only thread for large work
    CHECK(add(all, &small, WORK_SMALL));
    sem_wait(&small.begun);
    CHECK_INT(workers_waiting(all), 1);
    let_go(&small);
    CHECK(workers_is_done(all, &small.w));
    CHECK(!workers_is_done(all, &large[0].w) && !workers_is_done(all, &large[1].w));
    let_go(&large[0]);
    let_go(&large[1]);
    CHECK(large[1].order > large[0].order);
    workers_close(all);
}

TEST(a_full_queue_takes_nothing_until_there_is_room) {
    enum { ROOM = 3 };
    static item held, waiting[ROOM], more;
    workers *const all = workers_open(WORKERS_MIN, 0, ROOM, 1 << 20);
    init(&held), init(&more);
    CHECK(add(all, &held, WORK_SMALL));
    sem_wait(&held.begun);
    for (int i = 0; i < ROOM; i++) {
        init(&waiting[i]);
        CHECK(add(all, &waiting[i], WORK_SMALL));
    }
    CHECK(!add(all, &more, WORK_SMALL));
    let_go(&held);
    sem_wait(&waiting[0].begun);
    CHECK(add(all, &more, WORK_SMALL));
    for (int i = 0; i < ROOM; i++) let_go(&waiting[i]);
    let_go(&more);
    for (int i = 1; i < ROOM; i++) CHECK(waiting[i].order > waiting[i - 1].order);
    CHECK(more.order > waiting[ROOM - 1].order);
    workers_close(all);
}

TEST(what_is_given_up_is_freed_once_and_not_begun_if_it_waits) {
    static item held, first, middle, last, after;
    workers *const all = workers_open(WORKERS_MIN, 0, 8, 1 << 20);
    item *const waiting[] = {&first, &middle, &last};
    init(&held), init(&after);
    CHECK(add(all, &held, WORK_SMALL));
    sem_wait(&held.begun);
    for (int i = 0; i < 3; i++) {
        init(waiting[i]);
        CHECK(add(all, waiting[i], WORK_SMALL));
    }
    workers_give_up(all, &middle.w);
    workers_give_up(all, &last.w);
    workers_give_up(all, &first.w);
    for (int i = 0; i < 3; i++) CHECK_INT(atomic_load(&waiting[i]->n_freed), 1);
    CHECK_INT(workers_waiting(all), 0);
    CHECK(add(all, &after, WORK_SMALL)); // the queue's end is where it should be
    workers_give_up(all, &held.w);
    CHECK_INT(atomic_load(&held.n_freed), 0); // it runs
    let_go(&held);
    CHECK(held.was_given_up);
    CHECK_INT(atomic_load(&held.n_freed), 1);
    let_go(&after);
    CHECK(!after.was_given_up);
    CHECK_INT(atomic_load(&after.n_freed), 0);
    for (int i = 0; i < 3; i++) CHECK_INT(sem_trywait(&waiting[i]->begun), -1);
    workers_give_up(all, &after.w); // its result is not wanted
    CHECK_INT(atomic_load(&after.n_freed), 1);
    CHECK(!work_is_given_up()); // on a thread that is no worker
    workers_close(all);
}

typedef struct taker {
    workers *all;
    sem_t has_it;
    bool ok;
} taker;

static void *take(void *user) {
    taker *const t = user;
    t->ok = workers_take_memory(t->all, 600);
    sem_post(&t->has_it);
    return NULL;
}

TEST(memory_of_large_work_is_waited_for) {
    enum { ALL = 1000 };
    workers *const all = workers_open(WORKERS_MIN, 0, 1, ALL);
    taker t = {.all = all};
    pthread_t thread;
    sem_init(&t.has_it, 0, 0);
    CHECK(!workers_take_memory(all, ALL + 1)); // it would wait for ever
    CHECK(workers_take_memory(all, 300));
    CHECK(workers_take_memory(all, 200));
    CHECK_INT(pthread_create(&thread, NULL, take, &t), 0);
    CHECK_INT(sem_trywait(&t.has_it), -1);
    workers_give_memory(all, 200);
    sem_wait(&t.has_it);
    CHECK(t.ok);
    pthread_join(thread, NULL);
    workers_give_memory(all, 600);
    workers_give_memory(all, 300);
    CHECK(workers_take_memory(all, ALL)); // all was given back
    workers_give_memory(all, ALL);
    sem_destroy(&t.has_it);
    workers_close(all);
}
