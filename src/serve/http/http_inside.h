// serve/http/http_inside.h - connections and exchanges: private to the files http_*.c, and to WebSockets.
//
// One thread runs the loop (http_loop.c) with everything on it: connections, requests, handlers, answers. Fields below a line `lock`
// are guarded by http_server.lock; all others belong to that thread, which is called HTTP below.
//
// A connection goes through its phases once for each request. A function that may end it returns false when it has.
#ifndef RN_SERVE_HTTP_HTTP_INSIDE_H
#define RN_SERVE_HTTP_HTTP_INSIDE_H

#include "serve/access/api_keys.h"
#include "serve/access/client_address.h"
#include "serve/api/api_error.h"
#include "serve/http/http.h"
#include "serve/http/http_io.h"
#include "serve/http/http_parse.h"
#include "serve/http/http_server.h"
#include "serve/http/http_work.h"
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum { ID_TEXT = 72, HOST_NAMES = 2, HOST_TEXT = 256, URL_TEXT = 320, READ_BYTES = 16 << 10, SURPLUS_MAX = 64 };
#define SECOND_NS INT64_C(1000000000)

// Each has its own time limit (http_time.c).
typedef enum conn_phase {
    CONN_HANDSHAKE, // of TLS
    CONN_HEAD,      // from the connect, or the first byte of a later request
    CONN_BODY,
    CONN_ANSWER,
    CONN_IDLE,    // between two requests
    CONN_LINGER,  // everything was sent; what the client still sends is discarded, so that it can read the answer
    CONN_UPGRADED // belongs to the WebSockets' thread
} conn_phase;

typedef struct http_conn {
    http_server *h;
    struct http_conn *next, *prev;
    struct http_conn *next_ready;
    http_io io;
    char client[CLIENT_TEXT];
    char group[CLIENT_TEXT]; // client_group(): what its connections have in common
    bool is_loopback, is_surplus;
    bool is_ready;       // listed: has work without waiting for its socket
    bool is_closing;     // ends when everything was sent
    bool is_unread;      // the request's end was not read: linger
    bool is_aborted;     // ends at once: the answer cannot be completed
    bool is_ahead;       // the client has sent something that is not read before the answer was sent
    uint32_t events;     // that epoll waits for
    tls_state waits_for; // in CONN_HANDSHAKE
    conn_phase phase;
    int64_t since_ns; // when this phase began
    int64_t moved_ns; // when bytes were last sent, or there began to be some to send
    // When the client closed its sending side; 0: open. Whether it still reads is found out by sending something.
    int64_t half_closed_ns;
    http_parser parser;
    http_exchange *x; // the request in progress
    bytes in;         // read, and not parsed yet
    size_t n_in_taken;
    bytes out; // to be sent
    size_t n_out_taken;
    bytes body; // of a large answer, taken over from the handler: sent after `out`
    size_t n_body_taken;
    uint64_t n_discarded;
} http_conn;

typedef enum answer_kind { ANSWER_NONE, ANSWER_WHOLE, ANSWER_EVENTS, ANSWER_LATER, ANSWER_UPGRADE } answer_kind;

struct http_exchange {
    struct http_work *work; // not NULL: a stand-in for a worker's handler; only id and dialect are set beside it
    http_conn *conn;
    http_request request;
    char id[ID_TEXT];
    char client[CLIENT_TEXT];      // request.client: the connection's, or what a trusted proxy says
    char key_label[API_KEY_LABEL]; // api_keys.h; "": no key was given
    const char *origin;            // for Access-Control-Allow-Origin; NULL: none
    char allow[64];                // "Allow: GET, POST" when the path exists with other methods only; else ""
    bool is_http_1_0, is_path_plain, is_ready_question;
    // The body's end is too far away or unknown: the connection is closed after the answer instead of reading it.
    bool is_body_hopeless;
    bytes body;
    uint64_t n_received; // bytes of the body, also of one that is discarded
    uint64_t n_reserved; // bytes of all bodies' limit that this one holds (http_body.c)
    const http_route *route;
    api_dialect dialect; // of errors: known once the target was read
    bool is_refused;     // the head was refused with `refusal`: answered once the body has been read
    api_error refusal;
    int64_t begin_ns;
    // The answer.
    answer_kind kind;
    int status;
    uint64_t n_sent;
    http_source source;
    void *self;
    void (*ping)(void *self, bytes *line);
    // ANSWER_UPGRADE: takes the connection; in: bytes that came after the request.
    void (*upgraded)(void *self, const char *in, size_t n_in);
    bytes pulled;       // by the last pull
    bool is_due;        // pull() is
    bool is_last;       // nothing follows what is to be sent
    bool is_ping_due;   // an event stream was silent for long, or has not begun
    bool is_deferred;   // http_defer()
    bool is_probed;     // something was sent since the client stopped sending, to see whether it still reads
    int64_t touched_ns; // something was last sent
    // lock
    http_exchange *next_woken;
    bool is_woken;
};

struct http_server {
    struct server *server;
    const http_options *o;
    api_keys *keys;                        // the server's
    tls_context *tls;                      // NULL: plain
    char url[URL_TEXT], address[URL_TEXT]; // address: as Host may name it
    // The names of this machine while the server listens at all its addresses: its hostname, and the full one. "": none.
    char names[HOST_NAMES][HOST_TEXT];
    bool is_any_address;
    int log_fd;                      // -1: no access log
    unsigned long long n_lost_lines; // of the log, not reported there yet
    pthread_t thread;
    int epoll_fd, ring_fd;
    bool is_accept_paused; // there are no descriptors left
    http_conn *conns, *ready, *last_ready;
    int64_t brief_ns; // that handlers of short bodies took in this turn (http_work.c)
    size_t n_conns, n_surplus;
    char scratch[READ_BYTES];
    int64_t date_s; // of `date`, seconds since 1970
    char date[40];  // the header's value
    atomic_size_t n_busy;
    pthread_mutex_t lock;
    pthread_cond_t stopped; // listen_fd was closed
    // lock
    int listen_fd; // -1: closed
    http_exchange *woken, *last_woken;
    http_conn *handed_back; // by WebSockets, linked by next_ready
    bool is_stopping;       // accepts no more
    bool is_ending;         // no exchange may wait any more
    bool is_closing;        // the loop ends
};

// http_listen.c: opens the listening socket; fills url, address and is_any_address. -1: failed, the error has been printed.
int listen_open(http_server *h, bool has_keys);
void client_text(const struct sockaddr *address, char *text, bool *is_loopback);

// http_loop.c
bool loop_begin(http_server *h); // false: failed, the error has been printed
void loop_ring(http_server *h);  // any thread: the loop looks at what is below `lock`
void loop_end(http_server *h);   // ends all connections and the thread
void loop_watch(http_conn *c);   // tells epoll what the connection waits for
void loop_ready(http_conn *c);   // the connection goes on in the next turn
bool loop_add(http_conn *c);

// http_accept.c
void accept_all(http_server *h);
void accept_stop(http_server *h);

// http_conn.c
void conn_begin(http_server *h, int fd, const struct sockaddr *address);
void conn_end(http_conn *c); // frees it
void conn_event(http_conn *c, uint32_t events);
void conn_turn(http_conn *c); // it was listed by loop_ready()
void conn_phase_set(http_conn *c, conn_phase phase);
bool conn_has_output(const http_conn *c); // something is to be sent
bool conn_send(
    http_conn *c); // sends what can be sent now and does what follows from it; false: the connection has ended
// Answers with this error what is being read, and closes the connection once that was sent.
void conn_refuse(http_conn *c, const api_error *e);
void conn_hand_back(http_conn *c); // any thread: the WebSocket has ended, the connection does

// http_exchange.c
http_exchange *exchange_begin(http_conn *c); // NULL: out of memory
bool exchange_head(void *conn);              // parser_events
bool exchange_body(void *conn, const char *data, size_t n);
void exchange_run(http_exchange *x);                   // the request is complete
void exchange_end(http_exchange *x, bool is_complete); // frees it

// http_body.c: what all bodies hold together is limited. False: too much; e says so.
bool body_reserve(http_exchange *x, uint64_t n_bytes, api_error *e);
bool body_add(http_exchange *x, const char *data, size_t n, api_error *e);
void body_free(http_exchange *x);
void body_hold_answer(http_conn *c, bytes *body); // sent after `out`; empties body
void body_drop_answer(http_conn *c);

// http_headers.c: the exchange's request as an object of its own, which outlives it, with the body moved over. NULL: out of memory.
// request_free() from any thread; NULL is fine.
http_request *request_detach(http_exchange *x);
void request_free(http_request *r);

// http_head.c: checks the request line and all fields; false: e holds the error.
bool head_check(http_exchange *x, api_error *e);
bool head_is_preflight(const http_exchange *x);

// http_answer.c
void answer_preflight(http_exchange *x);
// Adds status line and headers to what is to be sent. content_type: NULL: none. n_body: Content-Length; ANSWER_OPEN: by chunks, or up
// to the connection's end; ANSWER_BODILESS: none.
enum { ANSWER_OPEN = -1, ANSWER_BODILESS = -2 };
void answer_head(http_exchange *x, int status, const char *content_type, const char *const *headers, int64_t n_body);
void answer_make_id(char *id); // ID_TEXT bytes

// http_wait.c
void wait_pull(http_exchange *x); // pulls if it is due, and writes what came; is_closing if the exchange cannot go on
void wait_probe(http_exchange *x);  // something is sent: does the client still read?
void wait_forget(http_exchange *x); // nobody can wake it any more

// http_time.c
void time_check(http_conn *c, int64_t now);

// http_log.c
int log_open(const char *name); // -1: no log; -2: failed, the error has been printed
void log_exchange(const http_exchange *x, bool is_complete);

#endif
