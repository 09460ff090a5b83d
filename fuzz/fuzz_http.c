// fuzz/fuzz_http.c - a connection with any bytes on it, whole, one by one and in pieces: parser, head, body, answers.
//
// An input: its first byte chooses the size of the pieces (0: whole), the second one the allocation that fails in a last run (0: none). The
// rest is what a client sends before it stops sending. However it was cut, the same answers must come, each of them valid; at the end nothing
// may be held.
#include "app/progress.h"
#include "app/say.h"
#include "serve/http/http_inside.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { ONE_BY_ONE_MAX = 4096, TURNS_MAX = 100000 };

static void must(bool holds) {
    if (!holds) abort();
}

// ---- what stands around a connection: the loop, and routes ------------------------------------------------------------

static http_conn *ready;
static bool has_faults; // an allocation fails in this run

void loop_ready(http_conn *c) {
    c->is_ready = true;
    ready = c;
}
void loop_watch(http_conn *c) { (void)c; }
bool loop_add(http_conn *c) { return c != NULL; }
void loop_ring(http_server *h) { (void)h; }
// Workers answer when they come to it; here handlers run at once.
void work_begin(http_exchange *x) { x->route->handle(x->conn->h->server, x, &x->request); }
void work_wake(struct http_work *w) { (void)w; }
void work_answer(struct http_work *w, int status, const char *content_type, const char *const *headers,
                 const void *body, size_t n_body) {
    (void)w, (void)status, (void)content_type, (void)headers, (void)body, (void)n_body;
}
void work_answer_bytes(struct http_work *w, int status, const char *content_type, const char *const *headers,
                       bytes *body) {
    (void)w, (void)status, (void)content_type, (void)headers, (void)body;
}
void work_answer_later(struct http_work *w, const http_source *source, void *self) {
    (void)w, (void)source, (void)self;
}
void work_answer_events(struct http_work *w, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line)) {
    (void)w, (void)headers, (void)source, (void)self, (void)ping;
}
struct server *work_server(const struct http_work *w) {
    (void)w;
    return NULL;
}
void metrics_error(metrics *m, api_code code) { (void)m, (void)code; }

static void route_echo(server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    unsigned long sum = 0;
    (void)s;
    must(r->body[r->n_body] == '\0');
    for (size_t i = 0; i < r->n_body; i++) sum = sum * 31 + (unsigned char)r->body[i];
    bytes_add_format(&body, "{\"n\": %zu, \"sum\": %lu}", r->n_body, sum);
    http_answer_json(x, 200, &body);
}

static int n_sources;
typedef struct source {
    int n_left;
} source;
static http_pull pull_events(void *self, http_exchange *x, bytes *to) {
    source *const s = self;
    (void)x;
    bytes_add_text(to, "data: x\n\n");
    return s->n_left-- > 0 ? HTTP_MORE : HTTP_END;
}
static http_pull pull_later(void *self, http_exchange *x, bytes *to) {
    source *const s = self;
    (void)to;
    if (s->n_left-- > 0) return HTTP_MORE;
    http_answer(x, 200, "text/plain", NULL, "late", 4);
    return HTTP_END;
}
static void gone(void *self, bool is_complete) {
    (void)is_complete;
    n_sources--;
    free(self);
}
static void begin_source(http_exchange *x, bool is_stream) {
    static const http_source events = {pull_events, gone}, later = {pull_later, gone};
    source *const s = app_alloc(sizeof *s);
    if (!s) {
        api_answer_error(x, &api_no_memory);
        return;
    }
    s->n_left = 2;
    n_sources++;
    if (is_stream)
        http_answer_events(x, NULL, &events, s, NULL);
    else
        http_answer_later(x, &later, s);
}
static void route_events(server *s, http_exchange *x, const http_request *r) {
    (void)s, (void)r;
    begin_source(x, true);
}
static void route_later(server *s, http_exchange *x, const http_request *r) {
    (void)s, (void)r;
    begin_source(x, false);
}
const http_route http_routes[] = {
    {"GET", "/health", route_echo, .is_open = true},
    {"POST", "/echo", route_echo, .has_body = true},
    {"GET", "/events", route_events},
    {"POST", "/later", route_later, .has_body = true},
    {"GET", "/below/", route_echo},
    {0},
};

// ---- one connection ---------------------------------------------------------------------------------------------------

static void hear(int fd, bytes *heard) {
    char scratch[16384];
    ssize_t n;
    while ((n = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT)) > 0) bytes_add(heard, scratch, (size_t)n);
}

// Whatever is due for the connection, until it waits.
static void serve(http_server *h, int peer, bytes *heard) {
    for (int i = 0; h->conns; i++) {
        http_conn *const c = h->conns;
        int n_unread = 0;
        must(i < TURNS_MAX);
        hear(peer, heard);
        if (ready) {
            ready = NULL;
            c->is_ready = false;
            conn_turn(c);
        } else if (conn_has_output(c))
            conn_event(c, EPOLLOUT);
        else if (c->phase != CONN_ANSWER && ioctl(c->io.fd, FIONREAD, &n_unread) == 0 && n_unread > 0)
            conn_event(c, EPOLLIN);
        else
            break;
        if (!h->conns) ready = NULL;
    }
    hear(peer, heard);
}

static void talk(http_server *h, const uint8_t *data, size_t n, size_t n_piece, bytes *heard) {
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int ends[2];
    *heard = (bytes){0};
    ready = NULL;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    conn_begin(h, ends[0], (const struct sockaddr *)&from);
    must(h->conns || has_faults);
    for (size_t at = 0; h->conns && at < n;) {
        const size_t left = n - at, n_now = left < n_piece ? left : n_piece;
        const ssize_t n_sent = send(ends[1], data + at, n_now, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n_sent > 0) at += (size_t)n_sent;
        serve(h, ends[1], heard);
    }
    shutdown(ends[1], SHUT_WR);
    for (int i = 0; h->conns && i < 3; i++) {
        conn_event(h->conns, EPOLLIN | (h->conns->half_closed_ns ? 0 : EPOLLRDHUP));
        serve(h, ends[1], heard);
    }
    must(!h->conns); // every request was answered or has been given up
    hear(ends[1], heard);
    close(ends[1]);
    must(h->n_conns == 0 && h->n_surplus == 0 && h->server->metrics.n_body_bytes == 0 && h->n_busy == 0 &&
         n_sources == 0);
}

// Takes out what differs from run to run, and what kind of malformed request was refused: one with two faults is refused for either.
static void drop_changing(bytes *b) {
    static const struct {
        const char *begin, *end;
    } parts[] = {{"\r\nDate: ", "\r\n"},
                 {"\r\nx-request-id: req-", "\r\n"},
                 {"\r\nContent-Length: ", "\r\n"},
                 {"\"message\":", "\"type\""},
                 {"HTTP/1.1 400 ", "\r\n"},
                 {"HTTP/1.1 505 ", "\r\n"},
                 {"\"code\":\"invalid_value\"", "}"},
                 {"\"code\":\"http_version_not_supported\"", "}"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (char *at = b->data;
             at && (at = memmem(at, b->n - (size_t)(at - b->data), parts[i].begin, strlen(parts[i].begin)));) {
            char *const end = memmem(at + 2, b->n - (size_t)(at + 2 - b->data), parts[i].end, strlen(parts[i].end));
            must(end != NULL);
            memmove(at, end, b->n - (size_t)(end - b->data));
            b->n -= (size_t)(end - at);
        }
}

static void check_answers(const bytes *b) {
    if (b->n) must(b->n > 12 && memcmp(b->data, "HTTP/1.1 ", 9) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static server s;
    static http_server h;
    static http_options o;
    static const text_list no_keys = {{0}, 0};
    if (n < 2) return 0;
    if (!h.o) {
        memory_be_fallible();
        http_options_init(&o);
        o.max_body_mib = 1, o.max_bodies_mib = 1;
        h = (http_server){
            .server = &s, .o = &o, .listen_fd = -1, .log_fd = -1, .epoll_fd = -1, .address = "127.0.0.1"};
        must(pthread_mutex_init(&h.lock, NULL) == 0 && api_keys_open(&no_keys, NULL, &h.keys));
    }
    const size_t n_piece = data[0], n_fault = data[1];
    data += 2, n -= 2;
    const size_t pieces[] = {n, n_piece ? n_piece : 1, n <= ONE_BY_ONE_MAX ? 1 : n};
    bytes whole, heard;
    talk(&h, data, n, n ? n : 1, &whole);
    check_answers(&whole);
    drop_changing(&whole);
    for (size_t i = 1; n && i < sizeof pieces / sizeof *pieces; i++) {
        talk(&h, data, n, pieces[i], &heard);
        drop_changing(&heard);
        must(heard.n == whole.n && (whole.n == 0 || memcmp(heard.data, whole.data, whole.n) == 0));
        bytes_free(&heard);
    }
    bytes_free(&whole);
    if (n_fault) {
        has_faults = true;
        memory_fail_after((long)n_fault);
        talk(&h, data, n, n ? n : 1, &heard);
        memory_fail_after(0);
        memory_forget();
        has_faults = false;
        bytes_free(&heard);
    }
    return 0;
}
