// serve/api/api_request.h - a request's body as its route reads it: tables of members, refusals by name, what is ignored.
//
// Ownership: `struct api_request` is the caller's; api_request_open() first, api_request_close() whatever came of it. What is read points
// into its document.
// Threads:   one at a time.
#ifndef RN_SERVE_API_API_REQUEST_H
#define RN_SERVE_API_API_REQUEST_H

#include "app/generation.h"
#include "app/json_read.h"
#include "app/json_schema.h"
#include "serve/api/api_error.h"
#include "serve/http/http.h"
#include "serve/server.h"

enum { JSON_DEPTH = 64, JSON_VALUES = 2 << 20, NAME_BYTES = 256 };

// A member that is known and cannot be honoured. harmless: values, as compact JSON apart by spaces, that ask for nothing.
typedef struct api_refusal {
    const char *name, *harmless, *why;
} api_refusal;
typedef struct api_refusals {
    const api_refusal *rows;
    size_t n;
    const struct api_refusals *more; // looked through afterwards; NULL: none
} api_refusals;

// What a route's members are, for a request that only lists them (http_request.listing): api_request_read() passes its tables to take()
// in place of reading, and fails. Called at most once, and not where the route reads no members, or there is no memory.
typedef struct api_listing {
    void (*take)(struct api_listing *l, const member_group *groups, size_t n_groups, const api_refusals *refusals);
} api_listing;

typedef struct api_request {
    struct server *server;
    uint64_t key;                  // of the API
    const char *client;            // its address; NULL: not known
    size_t n_body, n_picture_text; // bytes; those in long texts of base64
    uint64_t n_memory;             // taken from that of all large requests (serve/work/workers.h)
    json_doc *doc;
    const char *model_name;
    size_t model;    // index
    int32_t adapter; // the one whose name was given as the model; -1: none
    api_error error;
    bytes ignored;                // names of unknown members, "a, b"
    bool is_strict;               // such members are errors
    const api_refusals *refusals; // while members are read
    api_listing *listing;         // NULL: a request that is answered
} api_request;

// http NULL: the request came otherwise. False, here and below: the error says why.
bool api_request_open(api_request *r, struct server *s, const http_request *http, const char *body, size_t n_body);
// Of the body, without texts of base64: what may become tokens.
static inline size_t api_request_text_bytes(const api_request *r) { return r->n_body - r->n_picture_text; }
bool api_request_read(api_request *r, const member_group *groups, size_t n_groups, const api_refusals *refusals);
// The members of an object inside the request, in the same way: a reason in why begins with the member's name.
bool api_request_read_object(api_request *r, const json_item *object, const member_group *groups, size_t n_groups,
                             const api_refusals *refusals, char *why);
bool api_request_find_model(api_request *r);
// A part of a request, by a name for x-runnel-ignored ("tools.web_search"), that is left out. False: in strict mode that is an error.
bool api_request_leave_out(api_request *r, const char *name, char *why);
void api_request_close(api_request *r);
// "x-runnel-ignored: a, b"; NULL: nothing was. Freed with free().
char *api_request_ignored(const api_request *r);

// The members that every route has: model, user and other names that change nothing.
enum { API_COMMON_ROWS = 5 };
extern const member api_common_rows[API_COMMON_ROWS];
#define API_COMMON_GROUP(r) {api_common_rows, API_COMMON_ROWS, (r)}

// What the library refused when a stream should begin: code and member by its text. member: the prompt's name in this protocol.
bool api_fail_begin(api_error *e, rn_status st, const rn_error *err, const char *prompt_name);

#endif
