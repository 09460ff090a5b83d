// serve/websocket/websocket_inside.h - the socket structs: private to the files websocket*.c.
#ifndef RN_SERVE_WEBSOCKET_WEBSOCKET_INSIDE_H
#define RN_SERVE_WEBSOCKET_WEBSOCKET_INSIDE_H

#include "app/bytes.h"
#include "serve/http/http_inside.h"
#include "serve/websocket/websocket.h"
#include <wslay/wslay.h>

typedef struct message {
    struct message *next;
    size_t n;
    char text[];
} message;

struct websocket {
    struct websockets *all;
    const websocket_handler *handler;
    http_conn *conn;
    char client[CLIENT_TEXT];
    uint64_t key;
    http_io *io; // the connection's
    // The sockets' thread.
    wslay_event_context_ptr ctx;
    void *self;
    bytes early; // frames that arrived together with the handshake
    size_t n_early_taken, n_fragments;
    bool is_open, is_failed, is_lingering, is_held;
    uint32_t events;  // what epoll waits for
    int64_t heard_ns; // last time something was received
    int64_t moved_ns; // last time something was sent, or nothing was waiting to be sent
    int64_t pinged_ns, closing_ns;
    // lock
    struct websocket *next, *prev;
    message *first, *last;
    size_t n_queued, n_queued_bytes;
    bool is_woken, is_drained, wants_room;
    uint16_t close_code; // 0: not to be closed
    char close_reason[120];
};

struct websockets {
    struct server *server;
    pthread_t thread;
    int epoll_fd, event_fd;
    pthread_mutex_t lock;
    // lock
    struct websocket *list;
    bool is_draining, is_ending;
};

void websocket_begin(struct websocket *w); // from the HTTP thread: hands it to the sockets' thread
// Does all pending work of one socket, on the sockets' thread; false: the socket has ended.
bool websocket_serve(struct websocket *w, int64_t now_ns);

// websocket_wslay.c: one socket, on the sockets' thread.
bool websocket_start(struct websocket *w);
void websocket_read(struct websocket *w);
void websocket_write(struct websocket *w); // writes queued messages until the socket would block
void websocket_shut(struct websocket *w, uint16_t code, const char *reason);
void websocket_check_end(struct websocket *w);
bool websocket_is_drowning(const struct websocket *w); // held, or its send queue is full: nothing is read from it

#endif
