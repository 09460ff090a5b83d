// serve/http/http_parse.h - the bytes of a connection as one request after the other, with limits on the head (llhttp, strict).
//
// Ownership: the caller owns the parser; parser_free() frees what it holds. The head belongs to the parser and stays as it is from
// its callback until parser_reset().
// Threads: one at a time.
#ifndef RN_SERVE_HTTP_HTTP_PARSE_H
#define RN_SERVE_HTTP_HTTP_PARSE_H

#include "app/bytes.h"
#include "serve/api/api_error.h"
#include "serve/http/http_server.h"
#include <llhttp.h>

typedef struct http_head {
    const char *method; // constant text
    bytes text;         // the target, then names and values of the fields; each is terminated
    bytes fields;       // pairs of uint32_t: where in `text` a name and its value begin
    size_t n_fields;
    int minor; // HTTP/1.minor
    bool keeps_alive;
} http_head;

// NULL: there is no field of this name. The first one, if it was sent several times.
const char *head_field(const http_head *h, const char *name);
const char *head_name_at(const http_head *h, size_t i);
const char *head_value_at(const http_head *h, size_t i);
static inline char *head_target(const http_head *h) { return h->text.data; }

// Called while bytes are fed. False stops the parser: whoever returned it refuses the request.
typedef struct parser_events {
    bool (*head)(void *user);                             // request line and fields are complete
    bool (*body)(void *user, const char *data, size_t n); // a piece of the body, without the framing of chunks
} parser_events;

typedef struct http_parser {
    llhttp_t llhttp;
    http_head head;
    const http_options *o;
    const parser_events *events;
    void *user;
    api_error *e;
    size_t n_line, n_block, n_field; // bytes of the target, of all fields, of the current field, so far
    size_t n_head;                   // bytes fed before the head was complete
    uint64_t n_body, n_framing, n_chunks;
    char first[32]; // how the request line begins
    uint8_t n_first, n_blank;
    bool has_begun, has_version, has_head, in_field, is_stopped;
} http_parser;

void parser_init(http_parser *p, const http_options *o, const parser_events *events, void *user);
void parser_reset(http_parser *p); // before the next request
void parser_free(http_parser *p);

typedef enum parse_result {
    PARSE_MORE,    // everything was taken, the request goes on
    PARSE_END,     // the request is complete; bytes after it were not taken
    PARSE_STOPPED, // an event returned false
    PARSE_REFUSED  // no valid request, or a limit was exceeded: e says why
} parse_result;
// Feeds n bytes; n_taken: how many belong to this request.
parse_result parser_feed(http_parser *p, const char *data, size_t n, size_t *n_taken, api_error *e);

#endif
