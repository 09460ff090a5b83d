// serve/status/openapi.c - see openapi.h.
//
// Made of what answers requests: the table of routes (serve/routes.c), the rows of each route's members with the defaults of the struct that
// they fill, its refusals, the library's sampling fields, and the table of errors.
#include "serve/status/openapi.h"
#include "app/json_schema.h"
#include "serve/access/api_keys.h"
#include "serve/server.h"
#include "serve/status/openapi_inside.h"
#include <string.h>

void openapi_put(json_writer *w, const char *json) {
    bytes quoted = {0};
    bytes_add_text(&quoted, json);
    for (size_t i = 0; i < quoted.n; i++)
        if (quoted.data[i] == '\'') quoted.data[i] = '"';
    json_put_raw(w, quoted.data ? quoted.data : "{}");
    bytes_free(&quoted);
}

const char *openapi_word(const char *at, size_t *n) {
    if (!at) return NULL;
    at += strspn(at, " ");
    *n = strcspn(at, " ");
    return *n ? at : NULL;
}

// ---- paths ----------------------------------------------------------------------------------------------------------

static void put_path_parameter(json_writer *w, const char *name, size_t n) {
    json_put_begin(w, '{');
    json_member_text(w, "name", name, n);
    json_member_string(w, "in", "path");
    json_member_bool(w, "required", true);
    json_put_key(w, "schema");
    openapi_put(w, SCHEMA_TEXT);
    json_put_end(w, '}');
}

static const char *operation_of(const char *method) {
    static const struct {
        const char *method, *operation;
    } rows[] = {{"GET", "get"}, {"POST", "post"}, {"DELETE", "delete"}};
    size_t i = 0;
    while (strcmp(rows[i].method, method) != 0) i++;
    return rows[i].operation;
}

// below: what stands behind the route's path, n bytes.
static void put_operation(json_writer *w, struct server *s, const http_route *r, const char *below, size_t n) {
    const char *const brace = n ? memchr(below, '{', n) : NULL;
    const bool has_query = r->query && !below[n];
    json_member_begin(w, operation_of(r->method), '{');
    json_member_string(w, "summary", r->summary);
    if (r->is_open) {
        json_member_begin(w, "security", '[');
        json_put_end(w, ']');
    }
    if (brace || has_query) {
        json_member_begin(w, "parameters", '[');
        if (brace) put_path_parameter(w, brace + 1, strcspn(brace + 1, "}"));
        if (has_query) openapi_put(w, r->query);
        json_put_end(w, ']');
    }
    if (r->has_body) openapi_put_body(w, s, r);
    openapi_put_responses(w, r);
    json_put_end(w, '}');
}

static bool is_before(const http_route *r) {
    for (const http_route *o = http_routes; o < r; o++)
        if (strcmp(o->path, r->path) == 0) return true;
    return false;
}

// Where the route says that this may follow its path: "" where nothing may; NULL: it does not.
static const char *find_below(const http_route *r, const char *below, size_t n) {
    size_t n_own;
    if (!r->below) return n == 0 ? "" : NULL;
    for (const char *at = r->below; (at = openapi_word(at, &n_own)); at += n_own)
        if (n_own == n && memcmp(at, below, n) == 0) return at;
    return NULL;
}

// One path, with the methods of all routes that have it. below: n bytes behind the route's path.
static void put_path(json_writer *w, struct server *s, const http_route *first, const char *below, size_t n) {
    bytes path = {0};
    bytes_add_format(&path, "%s%.*s", first->path, (int)n, below);
    json_member_begin(w, path.data ? path.data : "", '{');
    bytes_free(&path);
    for (const http_route *r = first; r->method; r++) {
        const char *const own = strcmp(r->path, first->path) == 0 ? find_below(r, below, n) : NULL;
        if (own && r->summary) put_operation(w, s, r, own, n);
    }
    json_put_end(w, '}');
}

static void put_paths(json_writer *w, struct server *s) {
    size_t n;
    json_member_begin(w, "paths", '{');
    for (const http_route *r = http_routes; r->method; r++) {
        if (!r->summary || is_before(r)) continue;
        if (!r->below) put_path(w, s, r, "", 0);
        for (const char *at = r->below; (at = openapi_word(at, &n)); at += n) put_path(w, s, r, at, n);
    }
    json_put_end(w, '}');
}

// ---- the document ---------------------------------------------------------------------------------------------------

static void put_components(json_writer *w) {
    json_member_begin(w, "components", '{');
    json_put_key(w, "securitySchemes");
    openapi_put(w, "{'bearer':{'type':'http','scheme':'bearer'},"
                   "'x-api-key':{'type':'apiKey','in':'header','name':'x-api-key'}}");
    json_put_key(w, "headers");
    openapi_put(w, "{'x-request-id':{'required':true,'schema':{'type':'string'}},"
                   "'Retry-After':{'schema':{'type':'integer'}}}");
    json_member_begin(w, "schemas", '{');
    json_put_key(w, "ollama_options");
    openapi_put_options(w);
    openapi_put_error_schemas(w);
    json_put_end(w, '}');
    openapi_put_error_responses(w);
    json_put_end(w, '}');
}

void route_openapi(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    (void)r;
    json_put_begin(&w, '{');
    json_member_string(&w, "openapi", "3.1.0");
    json_member_begin(&w, "info", '{');
    json_member_string(&w, "title", "runnel");
    json_member_string(&w, "version", rn_version());
    json_put_end(&w, '}');
    json_put_key(&w, "security");
    openapi_put(&w, api_keys_needed(s->keys) ? "[{'bearer':[]},{'x-api-key':[]}]" : "[]");
    put_paths(&w, s);
    put_components(&w);
    json_put_end(&w, '}');
    http_answer_json(x, 200, &body);
}
