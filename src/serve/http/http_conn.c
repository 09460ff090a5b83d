// serve/http/http_conn.c - a connection from its begin to its end: reads requests one by one and sends their answers.
//
// While a request is being answered nothing is read: what a client sends ahead waits in the socket, and in `in` what was read
// together with the request.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { SEND_BYTES = 256 << 10, OUT_KEPT_BYTES = 16 << 10, DISCARD_FACTOR = 4 };

static const parser_events events = {exchange_head, exchange_body};

// Is this connection over the server's limit or over its address's?
static bool is_too_many(const http_server *h, const http_conn *c) {
    int32_t n = 1;
    if (h->n_conns >= (size_t)h->o->max_connections) return true;
    if (c->is_loopback) return false;
    for (const http_conn *other = h->conns; other; other = other->next)
        n += !other->is_surplus && strcmp(other->group, c->group) == 0;
    return n > h->o->max_connections_address;
}

static void set_socket(int fd) {
    const int one = 1, idle_seconds = 60, send_bytes = SEND_BYTES;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Without a limit the kernel buffers megabytes for a client that does not read.
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    // Keepalive detects clients whose network connection is gone.
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
}

static void refuse_surplus(http_conn *c) {
    const http_options *const o = c->h->o;
    api_error e;
    api_fail(&e, API_SERVER_BUSY, NULL,
             "connections: more than %d, or %d from one address (--max-connections, --max-connections-per-address)",
             o->max_connections, o->max_connections_address);
    conn_refuse(c, &e);
    if (conn_send(c)) loop_watch(c);
}

void conn_begin(http_server *h, int fd, const struct sockaddr *address) {
    static const char busy[] =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    http_conn *const c = app_alloc(sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    *c = (http_conn){.h = h, .io = {.fd = fd}, .phase = h->tls ? CONN_HANDSHAKE : CONN_HEAD, .waits_for = TLS_READS};
    c->since_ns = c->moved_ns = now_ns();
    client_text(address, c->client, &c->is_loopback);
    client_group(c->client, c->group);
    // Of a trusted proxy's, requests are counted by client instead (http_head.c).
    c->is_loopback |= trusted_proxies_has(&h->o->proxies, c->client);
    c->is_surplus = is_too_many(h, c);
    parser_init(&c->parser, h->o, &events, c);
    c->next = h->conns;
    if (h->conns) h->conns->prev = c;
    h->conns = c;
    *(c->is_surplus ? &h->n_surplus : &h->n_conns) += 1;
    set_socket(fd);
    if (h->n_surplus > SURPLUS_MAX) {
        if (!h->tls) io_write(&c->io, busy, sizeof busy - 1, false);
        conn_end(c);
    } else if ((h->tls && !(c->io.tls = tls_session_open(h->tls, fd))) || !loop_add(c))
        conn_end(c);
    else if (c->is_surplus && !h->tls)
        refuse_surplus(c);
}

static void unlist_ready(http_conn *c) {
    http_server *const h = c->h;
    http_conn *before = NULL;
    if (!c->is_ready) return;
    for (http_conn *at = h->ready; at != c; at = at->next_ready) before = at;
    *(before ? &before->next_ready : &h->ready) = c->next_ready;
    if (h->last_ready == c) h->last_ready = before;
    c->is_ready = false;
}

void conn_end(http_conn *c) {
    http_server *const h = c->h;
    if (c->x) exchange_end(c->x, c->phase == CONN_UPGRADED);
    unlist_ready(c);
    if (c->prev) c->prev->next = c->next;
    if (c->next) c->next->prev = c->prev;
    if (h->conns == c) h->conns = c->next;
    *(c->is_surplus ? &h->n_surplus : &h->n_conns) -= 1;
    io_unwatch(h->epoll_fd, c->io.fd);
    io_close(&c->io);
    parser_free(&c->parser);
    bytes_free(&c->in);
    bytes_free(&c->out);
    body_drop_answer(c);
    free(c);
}

void conn_hand_back(http_conn *c) {
    http_server *const h = c->h;
    pthread_mutex_lock(&h->lock);
    c->next_ready = h->handed_back;
    h->handed_back = c;
    pthread_mutex_unlock(&h->lock);
    loop_ring(h);
}

void conn_phase_set(http_conn *c, conn_phase phase) {
    c->phase = phase;
    c->since_ns = now_ns();
}

void conn_refuse(http_conn *c, const api_error *e) {
    if (!c->x && !exchange_begin(c)) {
        c->is_aborted = true;
        return;
    }
    c->is_closing = c->is_unread = true;
    conn_phase_set(c, CONN_ANSWER);
    body_free(c->x);
    api_answer_error(c->x, e);
}

static void drop_taken(bytes *b, size_t *n_taken) {
    b->n = *n_taken = 0;
    if (b->n_room > OUT_KEPT_BYTES) bytes_free(b);
}

// Closing a socket with unread bytes would reset the connection before the client has read the answer.
static void linger(http_conn *c) {
    io_end_writing(&c->io);
    c->is_closing = false;
    c->moved_ns = now_ns();
    drop_taken(&c->in, &c->n_in_taken);
    conn_phase_set(c, CONN_LINGER);
}

static bool after_answer(http_conn *c) {
    if (c->is_closing) {
        if (!c->is_unread && c->in.n == c->n_in_taken) {
            io_end_writing(&c->io); // under TLS: the answer was not cut off
            conn_end(c);
            return false;
        }
        linger(c);
        return true;
    }
    parser_reset(&c->parser);
    conn_phase_set(c, CONN_IDLE);
    if (c->in.n > c->n_in_taken || io_has_pending(&c->io)) loop_ready(c);
    return true;
}

static void upgrade(http_conn *c) {
    io_unwatch(c->h->epoll_fd, c->io.fd);
    conn_phase_set(c, CONN_UPGRADED);
    c->x->upgraded(c->x->self, c->in.data ? c->in.data + c->n_in_taken : "", c->in.n - c->n_in_taken);
}

// Everything was sent.
static bool after_sending(http_conn *c) {
    http_exchange *const x = c->x;
    if (!x || x->kind == ANSWER_NONE || c->phase != CONN_ANSWER) return true;
    if (x->kind == ANSWER_UPGRADE)
        upgrade(c);
    else if (x->kind == ANSWER_WHOLE || (x->kind == ANSWER_EVENTS && x->is_last)) {
        exchange_end(x, true);
        return after_answer(c);
    } else if (x->is_due || x->is_ping_due)
        loop_ready(c);
    return true;
}

// False: the socket takes no more for now. An error sets is_aborted.
static bool send_bytes(http_conn *c, const bytes *b, size_t *n_taken, bool has_more) {
    while (!c->is_aborted && b->n > *n_taken) {
        const ssize_t n = io_write(&c->io, b->data + *n_taken, b->n - *n_taken, has_more);
        if (n < 0 && io_is_later()) return false;
        if (n < 0) c->is_aborted = true;
        if (n > 0) *n_taken += (size_t)n, c->moved_ns = now_ns();
    }
    return true;
}

bool conn_has_output(const http_conn *c) { return c->out.n > c->n_out_taken || c->body.n > c->n_body_taken; }

bool conn_send(http_conn *c) {
    if (!send_bytes(c, &c->out, &c->n_out_taken, c->body.n > 0) || !send_bytes(c, &c->body, &c->n_body_taken, false))
        return true;
    if (c->is_aborted) {
        conn_end(c);
        return false;
    }
    drop_taken(&c->out, &c->n_out_taken);
    body_drop_answer(c);
    return after_sending(c);
}

// Parses n bytes of data: read just now, or all that is left in `in`. False: the connection has ended.
static bool feed(http_conn *c, const char *data, size_t n) {
    const bool is_kept = c->in.n > 0;
    size_t n_taken;
    api_error e;
    const parse_result result = parser_feed(&c->parser, data, n, &n_taken, &e);
    if (c->phase == CONN_IDLE && c->parser.has_begun) conn_phase_set(c, CONN_HEAD);
    if (is_kept)
        c->n_in_taken += n_taken;
    else if (n_taken < n && result == PARSE_END) {
        bytes_add(&c->in, data + n_taken, n - n_taken);
        if (memory_failed()) c->is_closing = c->is_unread = true; // what follows this request is lost
        memory_forget();
    }
    if (c->in.n == c->n_in_taken) drop_taken(&c->in, &c->n_in_taken);
    if (result == PARSE_END)
        exchange_run(c->x);
    else if (result == PARSE_REFUSED)
        conn_refuse(c, &e);
    return conn_send(c);
}

static bool discard(http_conn *c, size_t n) {
    c->n_discarded += n;
    c->moved_ns = now_ns();
    if (c->n_discarded <= ((uint64_t)c->h->o->max_body_mib << 20) * DISCARD_FACTOR) return true;
    conn_end(c);
    return false;
}

static bool read_more(http_conn *c) {
    http_server *const h = c->h;
    c->is_ahead = c->phase == CONN_ANSWER || c->is_ready;
    if (c->is_ahead) return true;
    const ssize_t n = io_read(&c->io, h->scratch, sizeof h->scratch);
    if (n < 0 && io_is_later()) return true;
    if (n <= 0) { // the client is gone, or will never complete its request
        conn_end(c);
        return false;
    }
    if (c->phase == CONN_LINGER) return discard(c, (size_t)n);
    if (!feed(c, h->scratch, (size_t)n)) return false;
    if (c->phase != CONN_ANSWER && c->phase != CONN_UPGRADED && io_has_pending(&c->io)) loop_ready(c);
    return true;
}

// False: nothing more is to be done for it in this turn.
static bool shake_hands(http_conn *c) {
    c->waits_for = tls_handshake(c->io.tls);
    if (c->waits_for == TLS_FAILED) {
        conn_end(c);
        return false;
    }
    if (c->waits_for != TLS_DONE) return true;
    c->phase = CONN_HEAD; // the time for the first request's head counts from the connect
    if (c->is_surplus) {
        refuse_surplus(c);
        return false;
    }
    if (io_has_pending(&c->io)) loop_ready(c);
    return true;
}

void conn_turn(http_conn *c) {
    bool is_alive = true;
    if (c->phase == CONN_ANSWER) {
        if (!conn_has_output(c)) wait_pull(c->x);
        is_alive = conn_send(c);
    } else if (c->in.n > c->n_in_taken)
        is_alive = feed(c, c->in.data + c->n_in_taken, c->in.n - c->n_in_taken);
    else
        is_alive = read_more(c);
    if (is_alive) loop_watch(c);
}

// The client stopped sending. It may have gone, or may still read. Under TLS it has gone: one that only stops sending says so within
// TLS (RFC 8446, section 6.1).
static bool note_half_closed(http_conn *c) {
    if (c->half_closed_ns) return true;
    c->half_closed_ns = now_ns();
    if (c->phase != CONN_ANSWER) return true;
    if (c->io.tls) {
        conn_end(c);
        return false;
    }
    wait_probe(c->x);
    return true;
}

void conn_event(http_conn *c, uint32_t happened) {
    if (happened & (EPOLLERR | EPOLLHUP)) {
        conn_end(c);
        return;
    }
    if ((happened & EPOLLRDHUP) && !note_half_closed(c)) return;
    if (c->phase == CONN_HANDSHAKE) {
        if (shake_hands(c)) loop_watch(c);
        return;
    }
    if ((happened & EPOLLOUT) && !conn_send(c)) return;
    if ((happened & EPOLLIN) && !read_more(c)) return;
    loop_watch(c);
}
