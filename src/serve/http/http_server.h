// serve/http/http_server.h - the HTTP server as cmd_serve uses it: open, stop accepting, close.
//
// Threads: one thread serves all connections (http_loop.c). The functions below are for the thread that opened the server.
#ifndef RN_SERVE_HTTP_HTTP_SERVER_H
#define RN_SERVE_HTTP_HTTP_SERVER_H

#include "app/options.h"
#include "serve/access/trusted_proxies.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;
typedef struct http_server http_server;

enum { TEXT_LIST_ITEMS = 64 };
typedef struct text_list {
    const char *items[TEXT_LIST_ITEMS];
    size_t n;
} text_list;
// The text must outlive the list. False: it is empty, or the list is full; why (NUMBER_WHY bytes) has the reason.
bool text_list_add(text_list *list, const char *value, char *why);

// Limits as in docs/limits.md; 0 seconds: no limit.
typedef struct http_options {
    const char *host;
    int32_t port; // 0: any free port
    bool no_auth; // allows an address that other machines reach without a key
    bool no_page; // serves nothing at / and below /page/
    text_list keys, hosts, origins;
    text_list mcp; // addresses that http/mcp_origins.h has checked
    trusted_proxies proxies;
    const char *key_file, *tls_cert, *tls_key, *access_log;
    int32_t max_connections, max_connections_address;            // 0: http_connections_fit()
    int32_t max_line, max_header_block, max_headers, max_header; // bytes, bytes, count, bytes
    int32_t max_body_mib;
    int32_t max_bodies_mib; // of all requests together; 0: http_bodies_default()
    int32_t header_seconds, body_seconds, idle_seconds, write_seconds, ping_seconds, drain_seconds;
} http_options;

void http_options_init(http_options *o);
enum { HTTP_ADDRESS_ROWS = 5, HTTP_TLS_ROWS = 2, HTTP_ACCESS_ROWS = 7, HTTP_LIMIT_ROWS = 13 };
extern const option http_address_rows[HTTP_ADDRESS_ROWS], http_tls_rows[HTTP_TLS_ROWS],
    http_access_rows[HTTP_ACCESS_ROWS], http_limit_rows[HTTP_LIMIT_ROWS];

// MiB of bodies for a server with this limit on its memory (MiB; 0: none was given): a sixteenth of it, 64 at most, and one body at
// least.
int32_t http_bodies_default(const http_options *o, int32_t memory_mib);
// Sets the numbers of connections that were not given, for a server where so many requests may run and wait: a burst of as many, also
// from one machine, must not be refused, and others must reach the server meanwhile.
void http_connections_fit(http_options *o, int32_t n_requests);
uint64_t http_server_memory(const http_options *o); // bytes that all connections and bodies together take at most

// False: failed, the error has been printed. The options must outlive the server.
bool http_server_open(struct server *s, const http_options *o, http_server **h);
const char *http_server_url(const http_server *h); // "http://127.0.0.1:8080"
void http_server_stop_accepting(http_server *h);
size_t http_server_busy(http_server *h);     // exchanges in progress
void http_server_cancel_all(http_server *h); // ends waiting exchanges and event streams
void http_server_close(http_server *h);      // NULL is fine

#endif
