// serve/http/http_inside.h - connections and exchanges: private to the files http_*.c.
//
// Threads: `HTTP` is libmicrohttpd's thread, `watcher` the thread of http_watch.c. Fields below a line `lock` are guarded by
// http_server.lock; all others belong to the HTTP thread. libmicrohttpd is never called with the lock held: it has its own lock.
#ifndef RN_SERVE_HTTP_HTTP_INSIDE_H
#define RN_SERVE_HTTP_HTTP_INSIDE_H

#include "serve/access/api_keys.h"
#include "serve/access/client_address.h"
#include "serve/api/api_error.h"
#include "serve/http/http.h"
#include "serve/http/http_server.h"
#include "serve/http/http_work.h"
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum { ID_TEXT = 72, HOST_NAMES = 2, HOST_TEXT = 256, URL_TEXT = 320 };

// The phase of a connection, in order; each has its own timeout. A request is whole from CONN_ANSWER on.
typedef enum conn_phase { CONN_IDLE, CONN_HEADERS, CONN_BODY, CONN_ANSWER, CONN_UPGRADED } conn_phase;

// What http_request.headers points to: the connection's, or copies where mhd is NULL.
struct http_headers {
    struct MHD_Connection *mhd;
    bytes copies; // "name\0value\0" for each
};

typedef struct http_conn {
    http_server *h;
    struct MHD_Connection *mhd;
    uint64_t number; // unique for the life of the process, unlike the connection's address in memory
    int fd;
    char client[CLIENT_TEXT];
    bool is_loopback;
    bool is_surplus; // over the connection limit: its first request is answered with that error
    // lock
    struct http_conn *next, *prev;
    http_exchange *x; // the request in progress
    conn_phase phase;
    int64_t since_ns; // when this phase began
    size_t n_body;    // bytes of the current request's body so far
    // When the client closed its sending side; 0: open. Whether it still reads is found out by sending something.
    int64_t half_closed_ns;
} http_conn;

typedef enum answer_kind { ANSWER_NONE, ANSWER_WHOLE, ANSWER_EVENTS, ANSWER_LATER, ANSWER_UPGRADE } answer_kind;

struct http_exchange {
    struct http_work *work; // not NULL: a stand-in for a worker's handler; nothing else is set
    http_conn *conn;
    char *target; // as sent; cut into path and query
    bool is_head_read;
    http_request request;
    struct http_headers headers;
    char id[ID_TEXT];
    char client[CLIENT_TEXT];      // request.client: the connection's, or what a trusted proxy says
    char key_label[API_KEY_LABEL]; // api_keys.h; "": no key was given
    const char *origin;            // for Access-Control-Allow-Origin; NULL: none
    char allow[64];                // "Allow: GET, POST" when the path exists with other methods only; else ""
    bool is_http_1_0, is_path_plain, is_ready_question;
    // The body's end is too far away or unknown: the connection is closed after the answer instead of reading it.
    bool is_body_hopeless;
    bytes body;
    const http_route *route;
    bool is_refused; // the header was refused with `refusal`: answered once the body has been read
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
    bool is_settled;    // ANSWER_LATER: libmicrohttpd knows that there is no body to read (wait_pull())
    // lock
    bool is_waiting; // suspended; the thread that clears this flag resumes the connection
    bool is_woken;   // pull() is due
    bool is_gone;    // the client disconnected or the server is ending: no further work
    bool is_ping_due;
    bool is_probed;     // something was sent since the client stopped sending, to see whether it still reads
    int64_t touched_ns; // something was last sent
};

struct http_server {
    struct server *server;
    const http_options *o;
    struct MHD_Daemon *daemon;
    api_keys *keys;                        // the server's
    char url[URL_TEXT], address[URL_TEXT]; // address: as Host may name it
    // The names of this machine while the server listens at all its addresses: its hostname, and the full one. "": none.
    char names[HOST_NAMES][HOST_TEXT];
    bool is_any_address, is_tls;
    int listen_fd; // owned by us once libmicrohttpd stopped listening
    int log_fd;    // -1: no access log
    pthread_t watcher;
    int watch_fd, stop_fd; // epoll; eventfd
    pthread_mutex_t lock;
    // lock
    http_conn *conns;
    uint64_t n_accepted;
    size_t n_conns, n_busy;
    bool is_ending; // no exchange may wait any more
};

// http_listen.c: opens the listening socket; fills url, address and is_any_address. -1: failed, the error has been printed.
int listen_open(http_server *h, bool has_keys);
void client_text(const struct sockaddr *address, char *text, bool *is_loopback);

// http_request.c: libmicrohttpd's callbacks.
void *request_begin(void *h, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_continue(void *h, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *n_data, void **exchange);
void request_end(void *h, struct MHD_Connection *mhd, void **exchange, enum MHD_RequestTerminationCode why);

// The exchange's request as an object of its own, which outlives it, with the body moved over. NULL: out of memory. request_free()
// from any thread; NULL is fine.
http_request *request_detach(http_exchange *x);
void request_free(http_request *r);

// http_head.c: checks the request line and all headers; false: e holds the error.
bool head_check(http_exchange *x, const char *version, api_error *e);
bool head_is_preflight(const http_exchange *x);

// http_answer.c
void answer_preflight(http_exchange *x);
// Takes ownership of the response.
bool answer_queue(http_exchange *x, int status, struct MHD_Response *response, const char *content_type,
                  const char *const *headers);
void answer_make_id(char *id); // ID_TEXT bytes

// http_wait.c
enum MHD_Result wait_pull(http_exchange *x); // http_answer_later(): the handler's call after each wait
bool wait_begin(http_exchange *x);           // false: it was woken meanwhile
// With the lock held: connections whose wait is over, to be resumed after unlocking. At most max at a time.
size_t wait_resume_due(http_server *h, struct MHD_Connection **due, size_t max);

// http_watch.c
bool watch_begin(http_server *h);
void watch_end(http_server *h);
void watch_close(http_server *h);      // call when no connection is left
void watch_resume_due(http_server *h); // resumes the connections whose wait is over
void watch_add(http_conn *c);          // HTTP
void watch_drop(http_conn *c);
void watch_phase(http_conn *c, conn_phase phase);
void watch_probe(http_exchange *x); // with the lock held, while x waits: checks whether the client still reads

// http_log.c
int log_open(const char *name); // -1: no log; -2: failed, the error has been printed
void log_exchange(const http_exchange *x, bool is_complete);

#endif
