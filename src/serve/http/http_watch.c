// serve/http/http_watch.c - a thread that detects disconnected clients, enforces timeouts and sends pings to
// event streams.
//
// libmicrohttpd does not watch the socket of a suspended connection. This thread has an epoll set of all
// connections' sockets, for hang-ups only. A reset, or both directions closed, means that the client
// disconnected. A client that has closed only its sending side (FIN) may have disconnected or may still read.
// Sending something shows which: a client that is gone answers with a reset within a round trip.
//
// What is sent: to an event stream a `: ping`; to a client that waits for a whole answer the interim response
// `100 Continue`, which every HTTP/1.1 client skips (RFC 9110, section 15.2; `102 Processing` fits better, but
// Python's http.client takes it for the answer). HTTP/1.0 has no interim responses: such a client simply gets
// its answer when it is ready. Under TLS, FIN always means that the client left (RFC 8446, section 6.1).
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 64, TICK_MS = 100, REST_MS = 1000, LEAST_RATE = 1024, ANSWER_408 = 2048 };
#define SECOND_NS INT64_C(1000000000)

void watch_probe(http_exchange *x) {
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    const http_conn *const c = x->conn;
    x->is_probed = true;
    x->touched_ns = now_ns();
    if (c->h->is_tls)
        x->is_gone = true;
    else if (x->kind == ANSWER_EVENTS)
        x->is_ping_due = true;
    else if (x->kind == ANSWER_LATER && !x->is_http_1_0)
        // Nothing else is being sent while the exchange waits.
        send(c->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// With the lock held.
static void note_event(http_conn *c, uint32_t events) {
    if (events & (EPOLLHUP | EPOLLERR)) {
        if (c->x) c->x->is_gone = true;
    } else if (events & EPOLLRDHUP) {
        if (!c->half_closed_ns) c->half_closed_ns = now_ns();
        if (c->x && c->x->is_waiting) watch_probe(c->x);
    }
}

// Answers 408 to a client whose request takes too long. No other answer can be in progress, as the request is
// incomplete.
static void refuse_slow(http_conn *c, const char *what, const char *name, int32_t seconds) {
    char text[ANSWER_408], id[ID_TEXT];
    api_error e;
    bytes body = {0};
    api_fail(&e, API_REQUEST_TIMEOUT, NULL, "%s: not complete after %d s (%s)", what, seconds, name);
    api_error_write(&e, &(json_writer){.out = &body});
    if (c->x)
        snprintf(id, sizeof id, "%s", c->x->id);
    else
        answer_make_id(id);
    const int n = snprintf(text, sizeof text,
                           "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nx-request-id: %s\r\n"
                           "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                           id, body.n, body.data);
    if (!c->h->is_tls) send(c->fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (c->x) c->x->status = api_http_status(API_REQUEST_TIMEOUT);
    bytes_free(&body);
    memory_forget(); // the connection ends either way
}

// The client has closed its sending side and everything it sent has been read, so the request will never be
// complete. libmicrohttpd does not notice: it gets the last bytes and the end of the stream in one event and
// reads only the bytes.
static bool is_over(const http_conn *c, int64_t now) {
    const int64_t since = c->half_closed_ns > c->since_ns ? c->half_closed_ns : c->since_ns;
    int n_unread = 0;
    return c->half_closed_ns && c->phase <= CONN_BODY && now - since > SECOND_NS &&
           ioctl(c->fd, FIONREAD, &n_unread) == 0 && n_unread == 0;
}

// With the lock held. Shuts down the socket of a connection whose phase takes too long; libmicrohttpd then
// reads end-of-file and closes it.
static void check_time(http_conn *c, int64_t now) {
    const http_options *const o = c->h->o;
    const int64_t seconds = (now - c->since_ns) / SECOND_NS;
    bool is_late = is_over(c, now);
    if (is_late) {
        // No error is sent: the client has stopped sending on its own.
    } else if (c->phase == CONN_HEADERS && o->header_seconds && seconds >= o->header_seconds) {
        refuse_slow(c, "headers", "--header-seconds", o->header_seconds);
        is_late = true;
    } else if (c->phase == CONN_BODY && o->body_seconds && seconds >= o->body_seconds &&
               c->n_body < (size_t)seconds * LEAST_RATE) {
        refuse_slow(c, "body", "--body-seconds", o->body_seconds);
        is_late = true;
    } else if (c->phase == CONN_IDLE && o->idle_seconds && seconds >= (int64_t)o->idle_seconds + o->header_seconds)
        is_late = true; // a request line that arrives too slowly
    if (!is_late) return;
    shutdown(c->fd, SHUT_RDWR);
    c->since_ns = now;
}

static void check_quiet(http_exchange *x, int64_t now) {
    const int64_t quiet = now - x->touched_ns, ping = x->conn->h->o->ping_seconds * SECOND_NS;
    if (!x->is_waiting || ping == 0 || quiet < ping) return;
    if (x->kind == ANSWER_EVENTS) {
        x->touched_ns = now;
        x->is_ping_due = true;
    } else if (x->conn->half_closed_ns)
        watch_probe(x);
}

void watch_resume_due(http_server *h) {
    struct MHD_Connection *due[EVENTS];
    size_t n;
    do {
        pthread_mutex_lock(&h->lock);
        n = wait_resume_due(h, due, EVENTS);
        pthread_mutex_unlock(&h->lock);
        for (size_t i = 0; i < n; i++) MHD_resume_connection(due[i]);
    } while (n == EVENTS);
}

static int look(http_server *h, const struct epoll_event *events, int n_events, int64_t *next_tick) {
    const int64_t now = now_ns();
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < n_events; i++)
        for (http_conn *c = h->conns; c; c = c->next)
            if (c->number == events[i].data.u64) note_event(c, events[i].events);
    if (now >= *next_tick) {
        for (http_conn *c = h->conns; c; c = c->next) {
            check_time(c, now);
            if (c->x) check_quiet(c->x, now);
        }
        *next_tick = now + TICK_MS * INT64_C(1000000);
    }
    const bool is_empty = h->conns == NULL;
    pthread_mutex_unlock(&h->lock);
    watch_resume_due(h);
    return is_empty ? REST_MS : TICK_MS;
}

static void *run(void *user) {
    http_server *const h = user;
    struct epoll_event events[EVENTS];
    int64_t next_tick = 0;
    for (int wait_ms = REST_MS;;) {
        const int n = epoll_wait(h->watch_fd, events, EVENTS, wait_ms);
        for (int i = 0; i < n; i++)
            if (events[i].data.u64 == 0) return NULL; // stop_fd
        wait_ms = look(h, events, n > 0 ? n : 0, &next_tick);
    }
}

bool watch_begin(http_server *h) {
    struct epoll_event stop = {.events = EPOLLIN};
    h->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    h->stop_fd = eventfd(0, EFD_CLOEXEC);
    int why =
        h->watch_fd < 0 || h->stop_fd < 0 || epoll_ctl(h->watch_fd, EPOLL_CTL_ADD, h->stop_fd, &stop) ? errno : 0;
    if (!why) why = pthread_create(&h->watcher, NULL, run, h);
    if (!why) return true;
    say("watching connections: %s", strerror(why));
    if (h->watch_fd >= 0) close(h->watch_fd);
    if (h->stop_fd >= 0) close(h->stop_fd);
    return false;
}

void watch_end(http_server *h) {
    const uint64_t one = 1;
    if (write(h->stop_fd, &one, sizeof one) == (ssize_t)sizeof one) pthread_join(h->watcher, NULL);
}

void watch_close(http_server *h) {
    close(h->watch_fd);
    close(h->stop_fd);
}

void watch_add(http_conn *c) {
    http_server *const h = c->h;
    pthread_mutex_lock(&h->lock);
    c->number = ++h->n_accepted;
    c->next = h->conns;
    if (h->conns) h->conns->prev = c;
    h->conns = c;
    h->n_conns++;
    pthread_mutex_unlock(&h->lock);
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.u64 = c->number};
    epoll_ctl(h->watch_fd, EPOLL_CTL_ADD, c->fd, &event);
}

void watch_drop(http_conn *c) {
    http_server *const h = c->h;
    epoll_ctl(h->watch_fd, EPOLL_CTL_DEL, c->fd, NULL);
    pthread_mutex_lock(&h->lock);
    if (c->prev) c->prev->next = c->next;
    if (c->next) c->next->prev = c->prev;
    if (h->conns == c) h->conns = c->next;
    h->n_conns--;
    pthread_mutex_unlock(&h->lock);
}

void watch_phase(http_conn *c, conn_phase phase) {
    pthread_mutex_lock(&c->h->lock);
    c->phase = phase;
    c->since_ns = now_ns();
    pthread_mutex_unlock(&c->h->lock);
}
