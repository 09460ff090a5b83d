// fuzz/fuzz_websocket.c - a handshake and the frames after it, as any client may send them: the same bytes whole, one by one and in pieces.
//
// An input: its first byte chooses the size of the pieces (0: whole) and, with bit 7, that header lines come first, up to an empty one; the
// second byte says how many bytes come together with the handshake. The rest are frames. However they were cut, the same messages must
// arrive and the same close frame go out, and whatever goes out must be frames of a server.
#include "app/progress.h"
#include "app/say.h"
#include "serve/server.h"
#include "serve/websocket/websocket_inside.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PIECE_MASK = 0x7f, HAS_HEADERS = 0x80, ONE_BY_ONE_MAX = 4096, HEADERS = 4 };

static void must(bool holds) {
    if (!holds) abort();
}

// ---- what stands around sockets: the HTTP side ------------------------------------------------------------------------

typedef struct headers {
    const char *values[HEADERS]; // by header_names; NULL: not sent
} headers;
static const char *const header_names[HEADERS] = {"Connection", "Upgrade", "Sec-WebSocket-Version",
                                                  "Sec-WebSocket-Key"};
static server the_server;
static bool was_refused, was_closed;

const char *http_header(const http_request *r, const char *name) {
    const headers *const h = r->headers;
    for (size_t i = 0; i < HEADERS; i++)
        if (strcasecmp(name, header_names[i]) == 0) return h->values[i];
    return NULL;
}
struct server *http_exchange_server(const http_exchange *x) { return x->conn->h->server; }
const char *http_exchange_id(const http_exchange *x) { return x->id; }
int http_exchange_dialect(const http_exchange *x) { return (int)x->dialect; }
void http_answer(http_exchange *x, int status, const char *content_type, const char *const *lines, const void *body,
                 size_t n_body) {
    (void)x, (void)content_type, (void)lines, (void)body, (void)n_body;
    must(status == 400 && !was_refused);
    was_refused = true;
}
void metrics_error(metrics *m, api_code code) { (void)m, (void)code; }
void answer_head(http_exchange *x, int status, const char *content_type, const char *const *lines, int64_t n_body) {
    (void)x, (void)content_type;
    must(status == 101 && n_body == ANSWER_BODILESS && strncmp(lines[2], "Sec-WebSocket-Accept: ", 22) == 0);
}
void conn_hand_back(http_conn *c) {
    (void)c;
    was_closed = true;
}

// ---- one connection ---------------------------------------------------------------------------------------------------

typedef struct transcript {
    bytes messages; // each with its length before it
    int close_code; // of the frame that the server sent; 0: none
} transcript;
typedef struct peer {
    websocket *w;
    transcript *heard;
} peer;
static transcript *listening;

static void *peer_open(server *s, websocket *w, uint64_t key, const char *client) {
    peer *const p = app_alloc(sizeof *p);
    (void)s, (void)key, (void)client;
    *p = (peer){w, listening};
    return p;
}
static void peer_message(void *self, const char *text, size_t n) {
    peer *const p = self;
    bytes_add(&p->heard->messages, &n, sizeof n);
    bytes_add(&p->heard->messages, text, n);
    websocket_send(p->w, text, n);
}
static void peer_wake(void *self) { (void)self; }
static void peer_closed(void *self) { free(self); }
static const websocket_handler echo = {peer_open, peer_message, peer_wake, NULL, peer_closed};

static struct websockets *sockets(void) {
    static struct websockets all;
    if (the_server.websockets) return &all;
    all = (struct websockets){.server = &the_server,
                              .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                              .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    must(all.epoll_fd >= 0 && all.event_fd >= 0 && pthread_mutex_init(&all.lock, NULL) == 0);
    the_server.websockets = &all;
    return &all;
}

// Frames of a server: whole, unmasked, of known kinds; the close frame is the last.
static void check_sent(const bytes *sent, transcript *t) {
    const uint8_t *const data = (const uint8_t *)sent->data;
    for (size_t at = 0; at < sent->n;) {
        must(sent->n - at >= 2 && t->close_code == 0);
        const uint8_t opcode = data[at] & 15;
        size_t n = data[at + 1], n_head = 2;
        must((data[at] & 0xf0) == 0x80 && (opcode == 1 || (opcode >= 8 && opcode <= 10)) && n < 128);
        if (n >= 126) {
            const size_t n_length = n == 126 ? 2 : 8;
            must(opcode == 1 && sent->n - at >= 2 + n_length);
            n = 0;
            for (size_t i = 0; i < n_length; i++) n = n << 8 | data[at + 2 + i];
            n_head += n_length;
        }
        must(n <= sent->n - at - n_head);
        if (opcode == 8) t->close_code = n >= 2 ? data[at + n_head] << 8 | data[at + n_head + 1] : 1005;
        at += n_head + n;
    }
}

static void hear(int fd, bytes *sent) {
    char scratch[65536];
    ssize_t n;
    while ((n = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT)) > 0) bytes_add(sent, scratch, (size_t)n);
}

// As the thread of all sockets does it when something has come; false: the socket has ended.
static bool serve(websocket *w, int client, bytes *sent) {
    bool is_alive = true;
    size_t before;
    do { // answers make room for more to be read
        before = sent->n;
        if (w->is_open && !w->is_failed) websocket_read(w);
        is_alive = websocket_serve(w, now_ns());
        hear(client, sent);
    } while (is_alive && sent->n > before);
    return is_alive;
}

// Frames after a good handshake, n_early of their bytes together with it, the others n_piece at a time. Takes w's exchange to its end.
static void talk(http_exchange *x, const uint8_t *frames, size_t n, size_t n_early, size_t n_piece, transcript *t) {
    int ends[2];
    bytes sent = {0};
    *t = (transcript){0};
    listening = t;
    was_closed = false;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    websocket *const w = x->self;
    x->conn->io.fd = ends[0];
    x->upgraded(w, (const char *)frames, n_early);
    bool is_alive = serve(w, ends[1], &sent);
    for (size_t at = n_early; is_alive && at < n;) {
        const size_t left = n - at, n_now = left < n_piece ? left : n_piece;
        const ssize_t n_taken = send(ends[1], frames + at, n_now, MSG_DONTWAIT | MSG_NOSIGNAL);
        must(n_taken >= 0 || w->is_failed || sent.n > 0);
        if (n_taken < 0) break;
        at += (size_t)n_taken;
        is_alive = serve(w, ends[1], &sent);
    }
    shutdown(ends[1], SHUT_WR);
    for (int i = 0; is_alive && i < 3; i++) is_alive = serve(w, ends[1], &sent);
    if (is_alive) {
        w->is_failed = true;
        must(!websocket_serve(w, now_ns()));
    }
    must(was_closed);
    hear(ends[1], &sent);
    check_sent(&sent, t);
    close(ends[0]);
    close(ends[1]);
    bytes_free(&sent);
    x->source.gone(x->self, false);
}

// A client's close frame whose text is not UTF-8 is answered with 1007 by what has come of it in one piece, and wslay does not put the pieces
// of such a text together. Any code is the end.
static bool is_same_end(int a, int b) { return a == b || a == 1007 || b == 1007; }

static bool shake_hands(http_exchange *x, http_conn *conn, const headers *h) {
    *x = (http_exchange){.conn = conn,
                         .request = {.method = "GET", .path = "/", .query = "", .client = "fuzz", .headers = h}};
    was_refused = false;
    http_upgrade(x, &x->request, &echo);
    must(was_refused != (x->kind == ANSWER_UPGRADE));
    return !was_refused;
}

// Lines up to an empty one, one for each of header_names. What follows is left.
static char *read_headers(headers *h, const uint8_t **data, size_t *n) {
    char *const text = app_alloc(*n + 1);
    memcpy(text, *data, *n);
    text[*n] = '\0';
    char *at = text;
    for (size_t i = 0; i < HEADERS && *at && *at != '\n'; i++) {
        h->values[i] = at;
        at += strcspn(at, "\n");
        if (*at) *at++ = '\0';
    }
    const size_t n_taken = (size_t)(at - text) + (*at == '\n');
    *data += n_taken < *n ? n_taken : *n;
    *n -= n_taken < *n ? n_taken : *n;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static http_options limits = {.max_body_mib = 1, .write_seconds = 60};
    http_server http = {.server = &the_server, .o = &limits};
    http_conn conn = {.h = &http, .io = {.fd = -1}};
    headers h = {{"keep-alive, Upgrade", "websocket", "13", "dGhlIHNhbXBsZSBub25jZQ=="}};
    http_exchange x;
    char *lines = NULL;
    if (n < 2) return 0;
    const size_t n_wished = data[0] & PIECE_MASK, pieces[] = {n, 1, n_wished ? n_wished : n};
    const bool has_headers = data[0] & HAS_HEADERS;
    size_t n_early = data[1];
    sockets();
    data += 2, n -= 2;
    if (has_headers) {
        h = (headers){0};
        lines = read_headers(&h, &data, &n);
    }
    if (n_early > n) n_early = n;
    transcript whole = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        transcript t;
        if (pieces[i] == 1 && n > ONE_BY_ONE_MAX) continue;
        if (!shake_hands(&x, &conn, &h)) break;
        talk(&x, data, n, i ? n_early : 0, pieces[i], i ? &t : &whole);
        if (i == 0) continue;
        must(is_same_end(t.close_code, whole.close_code) && t.messages.n == whole.messages.n);
        must(t.messages.n == 0 || memcmp(t.messages.data, whole.messages.data, t.messages.n) == 0);
        bytes_free(&t.messages);
    }
    bytes_free(&whole.messages);
    free(lines);
    return 0;
}
