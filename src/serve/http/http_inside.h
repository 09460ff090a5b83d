// serve/http/http_inside.h - connections and exchanges, as the files http_*.c share them.
//
// Threads: `HTTP` is libmicrohttpd's thread, `watcher` that of http_watch.c. Fields below a line `lock` are guarded by http_server.lock;
// all others are the HTTP thread's. No function of libmicrohttpd is called with the lock held: it has a lock of its own.
#ifndef RN_SERVE_HTTP_HTTP_INSIDE_H
#define RN_SERVE_HTTP_HTTP_INSIDE_H

#include "serve/access/api_keys.h"
#include "serve/api/api_error.h"
#include "serve/http/http.h"
#include "serve/http/http_server.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CLIENT_TEXT = 64, ID_TEXT = 72, URL_TEXT = 320 };

// What a connection's time is counted for.
typedef enum conn_phase { CONN_IDLE, CONN_HEADERS, CONN_BODY, CONN_ANSWER, CONN_UPGRADED } conn_phase;

typedef struct http_conn {
    http_server *h;
    struct MHD_Connection *mhd;
    uint64_t number; // unlike its address never used twice
    int fd;
    char client[CLIENT_TEXT];
    bool is_loopback;
    bool is_surplus; // one more than the limits allow: its first request is told so
    // lock
    struct http_conn *next, *prev;
    http_exchange *x; // the request in progress
    conn_phase phase;
    int64_t since_ns; // this phase began
    size_t n_body;    // of the request in progress, so far
    // Since when the client sends no more, 0: it may; whether it still reads is asked by sending something.
    int64_t half_closed_ns;
} http_conn;

typedef enum answer_kind { ANSWER_NONE, ANSWER_WHOLE, ANSWER_EVENTS, ANSWER_LATER, ANSWER_UPGRADE } answer_kind;

struct http_exchange {
    http_conn *conn;
    char *target; // as sent; cut into path and query
    bool is_head_read;
    http_request request;
    char id[ID_TEXT];
    const char *origin; // to be allowed in the answer; NULL: none
    char allow[64];     // "Allow: GET, POST", of a path that has no such method; else ""
    bool is_http_1_0, is_path_plain, is_ready_question;
    bool
        is_body_hopeless; // nobody waits for its end, as it is far away or cannot be told: the connection ends with the answer
    bytes body;
    const http_route *route;
    bool is_refused; // for `refusal`, found in the head: answered when the body has gone by
    api_error refusal;
    int64_t begin_ns;
    // The answer.
    answer_kind kind;
    int status;
    uint64_t n_sent;
    http_source source;
    void *self;
    void (*ping)(void *self, bytes *line);
    bytes out; // of an event stream: to be sent next
    size_t n_out_taken;
    bool has_begun, has_more, is_last;
    bool is_unsendable; // libmicrohttpd did not take the answer: the connection is closed
    bool is_settled;    // of ANSWER_LATER: libmicrohttpd knows that it has nothing to read (wait_pull())
    // lock
    bool is_waiting; // suspended; whoever takes this back resumes it, and nobody else
    bool is_woken;   // pull() is due
    bool is_gone;    // the client left, or the server ends: goes no further
    bool is_ping_due;
    bool is_probed;     // since the client stopped sending, something was sent to see whether it still reads
    int64_t touched_ns; // something was last sent
};

struct http_server {
    struct server *server;
    const http_options *o;
    struct MHD_Daemon *daemon;
    api_keys *keys;
    char url[URL_TEXT], address[URL_TEXT]; // address: as Host may name it
    bool is_any_address, is_tls;
    int listen_fd; // ours once libmicrohttpd stopped listening
    int log_fd;    // -1: no access log
    pthread_t watcher;
    int watch_fd, stop_fd; // epoll; eventfd
    pthread_mutex_t lock;
    // lock
    http_conn *conns;
    uint64_t n_accepted;
    size_t n_conns, n_busy;
    bool is_ending; // nobody waits any more
};

// http_listen.c: a socket that listens; fills url, address and is_any_address. -1: said.
int listen_open(http_server *h, bool has_keys);
void client_text(const struct sockaddr *address, char *text, bool *is_loopback);

// http_request.c: libmicrohttpd's callbacks.
void *request_begin(void *h, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_continue(void *h, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *n_data, void **exchange);
void request_end(void *h, struct MHD_Connection *mhd, void **exchange, enum MHD_RequestTerminationCode why);

// http_head.c: everything about a request's head that can be wrong; false: e says it.
bool head_check(http_exchange *x, const char *version, api_error *e);
bool head_is_preflight(const http_exchange *x);

// http_answer.c
void answer_preflight(http_exchange *x);
// Takes the response.
bool answer_queue(http_exchange *x, int status, struct MHD_Response *response, const char *content_type,
                  const char *const *headers);
void answer_make_id(char *id); // ID_TEXT bytes

// http_wait.c
enum MHD_Result wait_pull(http_exchange *x); // of http_answer_later(): the handler's call after each wait
bool wait_begin(http_exchange *x);           // false: something came up meanwhile
// With the lock: connections whose wait is over, to be resumed without it. At most max at a time.
size_t wait_resume_due(http_server *h, struct MHD_Connection **due, size_t max);

// http_watch.c
bool watch_begin(http_server *h);
void watch_end(http_server *h);
void watch_close(http_server *h);      // when no connection is left
void watch_resume_due(http_server *h); // those whose wait is over
void watch_add(http_conn *c);          // HTTP
void watch_drop(http_conn *c);
void watch_phase(http_conn *c, conn_phase phase);
void watch_probe(http_exchange *x); // with the lock, while x waits: does the client still read?

// http_log.c
int log_open(const char *name); // -1: none wanted; -2: said
void log_exchange(const http_exchange *x, bool is_complete);

#endif
