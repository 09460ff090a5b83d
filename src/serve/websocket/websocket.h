// serve/websocket/websocket.h - WebSockets (RFC 6455) as a protocol sees them: text messages in, text messages out, one thread for all sockets.
//
// A route calls http_upgrade() with its handler. From then on the handler's functions are called on the sockets' thread, one at a time,
// and must not block.
//
// Ownership: a websocket lives from open() until closed() returns. Threads: websocket_send(), websocket_wake() and websocket_close() from
// any; whoever calls them must have stopped when closed() returns.
#ifndef RN_SERVE_WEBSOCKET_WEBSOCKET_H
#define RN_SERVE_WEBSOCKET_WEBSOCKET_H

#include "serve/http/http.h"

typedef struct websocket websocket;

typedef struct websocket_handler {
    void *(*open)(
        struct server *s, websocket *w, int32_t key,
        const char *client); // returns self; NULL: no memory, closed() will not come; key, client: as in http_request
    void (*message)(void *self, const char *text, size_t n); // UTF-8, no terminator, valid during the call
    // After websocket_wake(), and when there is room again after a websocket_send() that found none.
    void (*wake)(void *self);
    void (*drain)(
        void *self); // the server is about to end: begin nothing, and close when nothing runs. NULL: closed at once
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

// A whole message, copied. false: so much waits for this client already (WEBSOCKET_QUEUE) that nothing was taken; wake() will follow. To
// one that is closing everything is taken and nothing sent.
enum { WEBSOCKET_QUEUE_BYTES = 256 << 10, WEBSOCKET_QUEUE = 1024 };
bool websocket_send(websocket *w, const char *text, size_t n);
void websocket_wake(websocket *w);
void websocket_close(websocket *w, websocket_code code, const char *reason); // what was sent before goes out first

// The server's side.
struct websockets;
struct websockets *websockets_open(struct server *s); // NULL: said
void websockets_drain(struct websockets *all);
void websockets_end(struct websockets *all);  // every socket's closed() has returned
void websockets_free(struct websockets *all); // when no request can come any more; NULL is fine

#endif
