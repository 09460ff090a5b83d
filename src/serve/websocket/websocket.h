// serve/websocket/websocket.h - WebSockets (RFC 6455): text messages in and out, one thread for all sockets.
//
// A route calls http_upgrade() with its handler. From then on the handler's functions are called on the sockets' thread, one at a time,
// and must not block.
//
// Ownership: a websocket lives from open() until closed() returns. Threads: websocket_send(), websocket_wake() and
// websocket_close() from any thread; no thread may call them after closed() has returned.
#ifndef RN_SERVE_WEBSOCKET_WEBSOCKET_H
#define RN_SERVE_WEBSOCKET_WEBSOCKET_H

#include "serve/http/http.h"

typedef struct websocket websocket;

typedef struct websocket_handler {
    // Returns self; NULL: out of memory, and closed() is not called. key, client: as in http_request.
    void *(*open)(struct server *s, websocket *w, uint64_t key, const char *client);
    void (*message)(void *self, const char *text, size_t n); // UTF-8, no terminator, valid during the call
    // After websocket_wake(), and when there is room again after a websocket_send() that found none.
    void (*wake)(void *self);
    // The server is shutting down: start nothing new, close when nothing runs. NULL: the socket is closed at once.
    void (*drain)(void *self);
    void (*closed)(void *self); // frees self. Called once
} websocket_handler;

typedef enum websocket_code { // RFC 6455, section 7.4.1
    WEBSOCKET_DONE = 1000,
    WEBSOCKET_GOING = 1001,
    WEBSOCKET_PROTOCOL = 1002,
    WEBSOCKET_NO_BINARY = 1003,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_FAULT = 1011,
    WEBSOCKET_TRY_LATER = 1013
} websocket_code;

// Queues a whole message (copied). False: this client's queue is full (WEBSOCKET_QUEUE messages or WEBSOCKET_QUEUE_BYTES), nothing
// was queued, and wake() will be called when there is room. On a closing socket messages are accepted and discarded.
enum { WEBSOCKET_QUEUE_BYTES = 256 << 10, WEBSOCKET_QUEUE = 1024 };
bool websocket_send(websocket *w, const char *text, size_t n);
void websocket_wake(websocket *w);
void websocket_close(websocket *w, websocket_code code, const char *reason); // queued messages are sent first
// From the handler's functions only: while it is held, nothing is read from the socket, so that messages of a client that sends faster
// than they are handled wait at the client. Those that were read already are still passed on.
void websocket_hold(websocket *w, bool is_held);

// The server's side.
struct websockets;
struct websockets *websockets_open(struct server *s); // NULL: failed, the error has been printed
void websockets_drain(struct websockets *all);
void websockets_revoke(struct websockets *all); // closes those of keys that are not valid any more
void websockets_end(struct websockets *all);    // returns when every socket's closed() has returned
void websockets_free(struct websockets *all);   // call when no request can arrive any more; NULL is fine

#endif
