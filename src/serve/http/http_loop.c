// serve/http/http_loop.c - the thread of all connections: waits for sockets and for http_wake(), and checks times.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64, TICK_MS = 100 };

void loop_ring(http_server *h) {
    const uint64_t one = 1;
    // Fails only if the counter is full: the thread is about to wake anyway.
    (void)!write(h->ring_fd, &one, sizeof one);
}

static uint32_t wanted_events(const http_conn *c) {
    const uint32_t hangup = c->half_closed_ns ? 0 : EPOLLRDHUP, out = conn_has_output(c) ? EPOLLOUT : 0;
    if (c->phase == CONN_HANDSHAKE) return hangup | (c->waits_for == TLS_WRITES ? EPOLLOUT : EPOLLIN);
    const bool reads = c->phase != CONN_ANSWER && !c->is_ready && !c->is_closing;
    return hangup | out | (reads || c->phase == CONN_LINGER ? EPOLLIN : 0);
}

void loop_watch(http_conn *c) {
    struct epoll_event event = {.events = wanted_events(c), .data.ptr = c};
    // Most clients send nothing while they are answered: two calls less for each request.
    if (!c->is_ahead && (event.events | EPOLLIN) == c->events) event.events = c->events;
    if (event.events == c->events || c->phase == CONN_UPGRADED) return;
    c->events = event.events;
    epoll_ctl(c->h->epoll_fd, EPOLL_CTL_MOD, c->io.fd, &event);
}

bool loop_add(http_conn *c) {
    struct epoll_event event = {.events = wanted_events(c), .data.ptr = c};
    c->events = event.events;
    return epoll_ctl(c->h->epoll_fd, EPOLL_CTL_ADD, c->io.fd, &event) == 0;
}

void loop_ready(http_conn *c) {
    http_server *const h = c->h;
    if (c->is_ready) return;
    c->is_ready = true;
    c->next_ready = NULL;
    if (h->last_ready)
        h->last_ready->next_ready = c;
    else
        h->ready = c;
    h->last_ready = c;
}

static http_conn *take_ready(http_server *h) {
    http_conn *const c = h->ready;
    h->ready = c->next_ready;
    if (!h->ready) h->last_ready = NULL;
    c->is_ready = false;
    return c;
}

// Connections that were listed before this turn; each of them may list itself again.
static void run_ready(http_server *h) {
    for (const http_conn *const last = h->last_ready; h->ready;) {
        http_conn *const c = take_ready(h);
        const bool is_last = c == last;
        memory_forget();
        conn_turn(c);
        if (is_last) return;
    }
}

static http_exchange *take_woken(http_server *h) {
    pthread_mutex_lock(&h->lock);
    http_exchange *const x = h->woken;
    if (x) {
        h->woken = x->next_woken;
        if (!h->woken) h->last_woken = NULL;
        x->is_woken = false;
    }
    pthread_mutex_unlock(&h->lock);
    return x;
}

static void end_handed_back(http_server *h) {
    pthread_mutex_lock(&h->lock);
    http_conn *c = h->handed_back;
    h->handed_back = NULL;
    pthread_mutex_unlock(&h->lock);
    for (http_conn *next; c; c = next) {
        next = c->next_ready;
        io_end_writing(&c->io);
        conn_end(c);
    }
}

static void end_waiting(http_server *h) {
    for (http_conn *c = h->conns, *next; c; c = next) {
        next = c->next;
        if (c->phase == CONN_ANSWER && (c->x->kind == ANSWER_EVENTS || c->x->kind == ANSWER_LATER)) conn_end(c);
    }
}

// Exchanges that were woken before this turn. Those woken meanwhile wait for the next one: sockets come in between.
static void run_woken(http_server *h) {
    pthread_mutex_lock(&h->lock);
    const http_exchange *const last = h->last_woken;
    pthread_mutex_unlock(&h->lock);
    for (http_exchange *x; last && (x = take_woken(h));) {
        const bool is_last = x == last;
        memory_forget();
        x->is_due = true;
        conn_turn(x->conn);
        if (is_last) break;
    }
    pthread_mutex_lock(&h->lock);
    const bool has_more = h->woken != NULL;
    pthread_mutex_unlock(&h->lock);
    if (has_more) loop_ring(h);
}

// Does what other threads asked for. False: the loop ends.
static bool answer_ring(http_server *h) {
    uint64_t n_rings;
    (void)!read(h->ring_fd, &n_rings, sizeof n_rings);
    run_woken(h);
    end_handed_back(h);
    pthread_mutex_lock(&h->lock);
    const bool is_stopping = h->is_stopping, is_ending = h->is_ending, is_closing = h->is_closing;
    pthread_mutex_unlock(&h->lock);
    if (is_stopping) accept_stop(h);
    if (is_ending) end_waiting(h);
    return !is_closing;
}

static void tick(http_server *h, int64_t now) {
    for (http_conn *c = h->conns, *next; c; c = next) {
        next = c->next;
        memory_forget();
        time_check(c, now);
    }
    if (h->is_accept_paused) accept_all(h);
}

static void *run(void *user) {
    http_server *const h = user;
    struct epoll_event events[EVENTS];
    int64_t next_tick = 0;
    for (bool goes_on = true; goes_on;) {
        const bool has_times = h->conns || h->is_accept_paused;
        h->brief_ns = 0;
        const int n = epoll_wait(h->epoll_fd, events, EVENTS, h->ready ? 0 : has_times ? TICK_MS : -1);
        bool has_rung = false;
        for (int i = 0; i < n; i++) {
            memory_forget();
            if (events[i].data.ptr == &h->ring_fd)
                has_rung = true;
            else if (events[i].data.ptr == &h->listen_fd)
                accept_all(h);
            else
                conn_event(events[i].data.ptr, events[i].events);
        }
        run_ready(h);
        if (has_rung) goes_on = answer_ring(h);
        const int64_t now = now_ns();
        if (now < next_tick) continue;
        tick(h, now);
        next_tick = now + TICK_MS * INT64_C(1000000);
    }
    while (h->conns) conn_end(h->conns);
    return NULL;
}

bool loop_begin(http_server *h) {
    struct epoll_event ring = {.events = EPOLLIN, .data.ptr = &h->ring_fd},
                       listen = {.events = EPOLLIN, .data.ptr = &h->listen_fd};
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    h->ring_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int why = h->epoll_fd < 0 || h->ring_fd < 0 || epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->ring_fd, &ring) ||
                      epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->listen_fd, &listen)
                  ? errno
                  : 0;
    if (!why) why = pthread_create(&h->thread, NULL, run, h);
    if (!why) return true;
    say("%s: connections: %s", h->url, strerror(why));
    if (h->epoll_fd >= 0) close(h->epoll_fd);
    if (h->ring_fd >= 0) close(h->ring_fd);
    return false;
}

void loop_end(http_server *h) {
    pthread_mutex_lock(&h->lock);
    h->is_closing = true;
    pthread_mutex_unlock(&h->lock);
    loop_ring(h);
    pthread_join(h->thread, NULL);
    close(h->epoll_fd);
    close(h->ring_fd);
}
