// serve/websocket/websocket.c - one thread for all WebSockets: reads, writes, wakes, pings and closes them.
#include "serve/websocket/websocket.h"
#include "app/progress.h"
#include "app/say.h"
#include "serve/access/api_keys.h"
#include "serve/server.h"
#include "serve/websocket/websocket_inside.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64, TICK_MS = 500 };
#define SECOND_NS INT64_C(1000000000)
static const int64_t PING_NS = 20 * SECOND_NS, CLOSE_NS = 5 * SECOND_NS;

static void ring(struct websockets *all) {
    const uint64_t one = 1;
    // Fails only if the counter is full: the thread is about to wake anyway.
    (void)!write(all->event_fd, &one, sizeof one);
}

bool websocket_send(websocket *w, const char *text, size_t n) {
    struct websockets *const all = w->all;
    message *const m = app_alloc(sizeof *m + n);
    if (!m) { // a lost message must not go unnoticed
        websocket_close(w, WEBSOCKET_TRY_LATER, "out of memory");
        return true;
    }
    *m = (message){.n = n};
    if (n) memcpy(m->text, text, n);
    pthread_mutex_lock(&all->lock);
    const bool is_closing = w->close_code != 0;
    const bool has_room =
        w->n_queued == 0 || (w->n_queued < WEBSOCKET_QUEUE && w->n_queued_bytes + n <= WEBSOCKET_QUEUE_BYTES);
    const bool is_taken = has_room && !is_closing;
    if (is_taken) {
        if (w->last)
            w->last->next = m;
        else
            w->first = m;
        w->last = m;
        w->n_queued++;
        w->n_queued_bytes += n;
    } else if (!is_closing)
        w->wants_room = true;
    const bool is_first = w->n_queued == 1;
    pthread_mutex_unlock(&all->lock);
    if (!is_taken) free(m);
    if (is_taken && is_first) ring(all);
    return is_taken || is_closing;
}

void websocket_wake(websocket *w) {
    pthread_mutex_lock(&w->all->lock);
    const bool is_first = !w->is_woken; // several streams of a socket wake it in each step: one wake-up is enough
    w->is_woken = true;
    pthread_mutex_unlock(&w->all->lock);
    if (is_first) ring(w->all);
}

void websocket_close(websocket *w, websocket_code code, const char *reason) {
    pthread_mutex_lock(&w->all->lock);
    if (w->close_code == 0) {
        w->close_code = (uint16_t)code;
        snprintf(w->close_reason, sizeof w->close_reason, "%s", reason);
    }
    pthread_mutex_unlock(&w->all->lock);
    ring(w->all);
}

// With the lock held.
static void close_revoked(websocket *w) {
    if (w->close_code || api_keys_is_valid(w->all->server->keys, w->key)) return;
    w->close_code = WEBSOCKET_POLICY;
    snprintf(w->close_reason, sizeof w->close_reason, "the API key is not valid any more");
}

void websocket_begin(websocket *w) {
    struct websockets *const all = w->all;
    w->heard_ns = w->moved_ns = w->pinged_ns = now_ns();
    pthread_mutex_lock(&all->lock);
    const bool is_late = all->is_ending;
    if (!is_late) {
        w->next = all->list;
        if (all->list) all->list->prev = w;
        all->list = w;
        close_revoked(w); // the key may have gone since the request's head was read
    }
    pthread_mutex_unlock(&all->lock);
    if (is_late)
        conn_hand_back(w->conn);
    else
        ring(all);
}

static void open_socket(websocket *w) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
    w->is_open = true;
    w->events = event.events;
    w->self = w->is_failed ? NULL : w->handler->open(w->all->server, w, w->key, w->client);
    if (!w->self || !websocket_start(w) || epoll_ctl(w->all->epoll_fd, EPOLL_CTL_ADD, w->io->fd, &event) != 0)
        w->is_failed = true;
}

// Hands the connection back to the HTTP thread. free_socket() frees the socket when the exchange ends.
static void end_socket(websocket *w) {
    struct websockets *const all = w->all;
    if (w->is_open) {
        epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, w->io->fd, NULL);
        if (w->self) w->handler->closed(w->self);
        if (w->ctx) wslay_event_context_free(w->ctx);
    }
    pthread_mutex_lock(&all->lock);
    if (w->prev) w->prev->next = w->next;
    if (w->next) w->next->prev = w->prev;
    if (all->list == w) all->list = w->next;
    pthread_mutex_unlock(&all->lock);
    for (message *m = w->first, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    conn_hand_back(w->conn);
}

static void check_time(websocket *w, int64_t now) {
    const int64_t write_ns = w->conn->h->o->write_seconds * SECOND_NS;
    if (w->closing_ns && now - w->closing_ns > CLOSE_NS) w->is_failed = true;
    if (write_ns && wslay_event_want_write(w->ctx) && now - w->moved_ns > write_ns) w->is_failed = true;
    if (now - w->heard_ns > 3 * PING_NS) w->is_failed = true; // two pings were not answered
    if (now - w->heard_ns < PING_NS || now - w->pinged_ns < PING_NS || w->closing_ns) return;
    const struct wslay_event_msg ping = {WSLAY_PING, NULL, 0};
    w->pinged_ns = now;
    wslay_event_queue_msg(w->ctx, &ping);
}

typedef struct order {
    bool is_woken, is_drain;
    uint16_t close_code;
    char reason[sizeof((websocket *)0)->close_reason];
} order;

static order take_order(websocket *w) {
    order o = {0};
    pthread_mutex_lock(&w->all->lock);
    o.is_woken = w->is_woken;
    o.is_drain = w->all->is_draining && !w->is_drained;
    w->is_woken = false;
    w->is_drained = w->all->is_draining;
    // Queued messages are sent before the close frame.
    if (w->close_code && !w->first) {
        o.close_code = w->close_code;
        memcpy(o.reason, w->close_reason, sizeof o.reason);
    }
    pthread_mutex_unlock(&w->all->lock);
    return o;
}

static void set_events(websocket *w) {
    const bool wants_read = w->is_lingering || (wslay_event_get_read_enabled(w->ctx) && !websocket_is_drowning(w));
    const uint32_t wanted = (wants_read ? EPOLLIN : 0u) | (wslay_event_want_write(w->ctx) ? EPOLLOUT : 0u);
    struct epoll_event event = {.events = wanted, .data.ptr = w};
    if (wanted == w->events) return;
    w->events = wanted;
    epoll_ctl(w->all->epoll_fd, EPOLL_CTL_MOD, w->io->fd, &event);
}

bool websocket_serve(websocket *w, int64_t now) {
    if (!w->is_open) open_socket(w);
    if (!w->is_failed) {
        const order o = take_order(w);
        // Frames that came with the handshake, or that TLS has received and not shown to epoll.
        if (w->early.n > w->n_early_taken || io_has_pending(w->io)) websocket_read(w);
        if (o.is_woken && !w->closing_ns) w->handler->wake(w->self);
        if (o.is_drain && w->handler->drain && !w->closing_ns) w->handler->drain(w->self);
        if (o.is_drain && !w->handler->drain) websocket_shut(w, WEBSOCKET_GOING, "shutting down");
        if (o.close_code) websocket_shut(w, o.close_code, o.reason);
        check_time(w, now);
        websocket_write(w);
        websocket_check_end(w);
        set_events(w);
    }
    if (!w->is_failed) return true;
    end_socket(w);
    return false;
}

static void *run(void *user) {
    struct websockets *const all = user;
    struct epoll_event events[EVENTS];
    for (;;) {
        uint64_t rung;
        const int n = epoll_wait(all->epoll_fd, events, EVENTS, TICK_MS);
        for (int i = 0; i < n; i++) {
            websocket *const w = events[i].data.ptr;
            if (!w)
                (void)!read(all->event_fd, &rung, sizeof rung);
            else if (events[i].events & (EPOLLERR | EPOLLHUP))
                w->is_failed = true;
            else if (events[i].events & EPOLLIN)
                websocket_read(w);
        }
        pthread_mutex_lock(&all->lock);
        const bool is_ending = all->is_ending;
        websocket *w = all->list;
        pthread_mutex_unlock(&all->lock);
        // Safe without the lock: other threads only insert at the front, and only this thread removes sockets.
        for (websocket *next; w; w = next) {
            next = w->next;
            if (is_ending) w->is_failed = true;
            websocket_serve(w, now_ns());
        }
        if (is_ending) return NULL;
    }
}

struct websockets *websockets_open(struct server *s) {
    struct websockets *const all = app_alloc(sizeof *all);
    *all = (struct websockets){
        .server = s, .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct epoll_event event = {.events = EPOLLIN};
    pthread_mutex_init(&all->lock, NULL);
    int why = all->epoll_fd < 0 || all->event_fd < 0 || epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, all->event_fd, &event)
                  ? errno
                  : 0;
    if (!why) why = pthread_create(&all->thread, NULL, run, all);
    if (!why) return all;
    say("WebSockets: %s", strerror(why));
    if (all->epoll_fd >= 0) close(all->epoll_fd);
    if (all->event_fd >= 0) close(all->event_fd);
    free(all);
    return NULL;
}

void websockets_drain(struct websockets *all) {
    pthread_mutex_lock(&all->lock);
    all->is_draining = true;
    pthread_mutex_unlock(&all->lock);
    ring(all);
}

void websockets_revoke(struct websockets *all) {
    pthread_mutex_lock(&all->lock);
    for (websocket *w = all->list; w; w = w->next) close_revoked(w);
    pthread_mutex_unlock(&all->lock);
    ring(all);
}

void websockets_end(struct websockets *all) {
    pthread_mutex_lock(&all->lock);
    all->is_ending = true;
    pthread_mutex_unlock(&all->lock);
    ring(all);
    pthread_join(all->thread, NULL);
}

void websockets_free(struct websockets *all) {
    if (!all) return;
    close(all->epoll_fd);
    close(all->event_fd);
    pthread_mutex_destroy(&all->lock);
    free(all);
}
