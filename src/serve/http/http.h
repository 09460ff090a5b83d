// serve/http/http.h - HTTP as the routes see it: a checked request, and an exchange that is answered at once or as a stream.
//
// One thread serves all connections (http_loop.c): pull(), ping() and gone() run on that
// thread, one at a time, and must not block. So do handlers of routes without a body. Handlers of routes with a body (has_body) run
// on worker threads, several at once: they may parse, tokenize and take long, and their answer is sent after they have returned. With
// is_brief they run on the HTTP thread while the body is short, unless they defer the request (http_defer()). The
// checks of docs/server.md (limits, Host, Origin, key, content type, timeouts) are done before a handler is called, on the same
// request object that is routed.
//
// A worker's handler calls the same functions. If its client has disconnected, work_is_given_up() (serve/work/workers.h) says so,
// and a source that it gives is not pulled: gone() is called, on the worker, in place of it.
//
// Ownership: a request lives until its handler returns, its exchange until the source's gone() returns.
// Threads: http_wake() from any thread; everything else on the thread that runs the handler, pull() or gone().
#ifndef RN_SERVE_HTTP_HTTP_H
#define RN_SERVE_HTTP_HTTP_H

#include "app/bytes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server; // serve/server.h

typedef struct http_exchange http_exchange;

typedef struct http_request {
    const char *method, *path, *query; // as sent; query without its `?`, "" when there is none
    const char *body;                  // n_body bytes and a terminator
    size_t n_body;
    const char *id;      // x-request-id: the client's if it is short and printable, else generated
    const char *client;  // address, for fairness and logs
    uint64_t key;        // identity of the API key that was given (api_keys.h); 0: none is needed
    const void *headers; // http_header(); NULL: none
    // Not NULL: the request lists the route's members (serve/api/api_request.h). It has no exchange: the handler is called with NULL.
    struct api_listing *listing;
} http_request;
const char *http_header(const http_request *r, const char *name); // NULL: not there
struct server *http_exchange_server(const http_exchange *x);
const char *http_exchange_id(const http_exchange *x); // as http_request.id
int http_exchange_dialect(const http_exchange *x);    // an api_dialect (serve/api/api_error.h)

// Answers at once. headers: "Name: value" lines, terminated by NULL; NULL: none. The body is copied.
void http_answer(http_exchange *x, int status, const char *content_type, const char *const *headers, const void *body,
                 size_t n_body);
// The same without a copy, for large bodies: takes the body over and empties it.
void http_answer_bytes(http_exchange *x, int status, const char *content_type, const char *const *headers,
                       bytes *body);
void http_answer_json(http_exchange *x, int status, bytes *body); // takes the body over, too

// For an answer that comes later: the exchange waits, and pull() is called on the HTTP thread after each http_wake().
typedef enum http_pull {
    HTTP_WAIT, // send what was added; nothing more for now
    HTTP_MORE, // send what was added; more is ready
    HTTP_END   // send what was added; the answer is complete
} http_pull;
typedef struct http_source {
    // Event stream: the header with status 200 is sent before the first pull(), which adds bytes of the body. After
    // http_answer_later(): pull() calls http_answer() and returns HTTP_END, or calls http_answer_events(), whose source takes the
    // place of this one (whose gone() is then not called), and returns HTTP_WAIT, or just returns HTTP_WAIT.
    http_pull (*pull)(void *self, http_exchange *x, bytes *to);
    // The exchange is over: everything was sent (is_complete) or the client disconnected. Frees self. Called exactly once.
    void (*gone)(void *self, bool is_complete);
    const char *content_type; // of a stream that is no event stream, and so has no pings; NULL: text/event-stream
} http_source;

// Answers with text/event-stream, or with what the source says (headers: docs/server-api.md). While there are no events the server sends `: ping` lines
// (--ping-seconds); ping() may append text to that line (queue and prefill progress); NULL: none.
void http_answer_events(http_exchange *x, const char *const *headers, const http_source *source, void *self,
                        void (*ping)(void *self, bytes *line));
void http_answer_later(http_exchange *x, const http_source *source, void *self);
void http_wake(http_exchange *x);
// For a handler with is_brief, before its request has had any effect, when handling it would block or take long. True: it runs on the
// HTTP thread, returns without an answer and is called again on a worker. False: it is there already.
bool http_defer(http_exchange *x);

// The connection becomes a WebSocket (RFC 6455), or the request is refused: the handler is serve/websocket/websocket.h's.
struct websocket_handler;
void http_upgrade(http_exchange *x, const http_request *r, const struct websocket_handler *handler);

typedef void (*http_handler)(struct server *s, http_exchange *x, const http_request *r);
typedef struct http_route {
    const char *method, *path; // a path that ends in `/` matches everything below it
    http_handler handle;
    bool is_open;      // needs no key (/health, the page)
    bool is_page;      // disabled by --no-page
    bool has_body;     // requires a JSON body; the handler runs on a worker
    bool is_brief;     // or on the HTTP thread, since a short body takes it little time, whatever is in it
    bool has_name;     // what follows the path is one name, and may have any characters as escapes, slashes too
    bool has_no_slash; // what follows the path has none
    bool streams;      // with `stream` the answer is events (of Ollama's interface: lines)
    // For /openapi.json (serve/status/openapi.h). Several words of a text have spaces between them. JSON has ' in place of ". A route without
    // a summary is not described, and its handler not called for its members.
    const char *summary;
    const char *below;   // what may follow a path that ends in `/`: "{id} {id}/items"
    const char *query;   // parameters of the last such path, or of the path: JSON objects; NULL: none
    const char *needs;   // members that the body must have: "a b", or "a|b" where one of them will do; NULL: none
    const char *example; // JSON: a body that is answered; NULL: none
    // What answers of status 200 have at least: "id:string choices:array"; "[]": an array; a media type; "websocket"; "": there is no body;
    // NULL: the route refuses everything.
    const char *answer;
} http_route;
extern const http_route http_routes[]; // serve/routes.c; terminated by a NULL method

#endif
