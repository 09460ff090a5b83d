// serve/status/openapi_responses.c - what routes answer, and the errors of each dialect.
#include "serve/status/openapi_inside.h"
#include <stdio.h>
#include <string.h>

#define EVENTS "text/event-stream"
#define EVENT_SCHEMA                                                                                                 \
    "{'description':'one event','type':'object','properties':{'data':{'type':'string'},'event':{'type':'string'},"   \
    "'id':{'type':'string'}},'required':['data']}"
#define REQUEST_ID "'x-request-id':{'$ref':'#/components/headers/x-request-id'}"

static const char *const dialects[] = {
    [DIALECT_OPENAI] = "openai", [DIALECT_ANTHROPIC] = "anthropic", [DIALECT_OLLAMA] = "ollama"};
enum { N_DIALECTS = sizeof dialects / sizeof *dialects };

static const char *const error_schemas[] = {
    [DIALECT_OPENAI] = "{'type':'object','properties':{'error':{'type':'object','properties':{"
                       "'message':{'type':'string'},'type':{'type':'string'},'param':{'type':['string','null']},"
                       "'code':{'$ref':'#/components/schemas/code'}},'required':['message','type','param','code']}},"
                       "'required':['error']}",
    [DIALECT_ANTHROPIC] =
        "{'type':'object','properties':{'type':{'const':'error'},'error':{'type':'object','properties':{"
        "'type':{'type':'string'},'message':{'type':'string'}},'required':['type','message']}},"
        "'required':['type','error']}",
    [DIALECT_OLLAMA] = "{'type':'object','properties':{'error':{'type':'string'}},'required':['error']}"};

// ---- answers --------------------------------------------------------------------------------------------------------

// "id:string choices:array": the members that every such answer has, with their types.
static void put_members(json_writer *w, const char *answer) {
    bytes properties = {0};
    size_t n;
    json_member_begin(w, "required", '[');
    for (const char *at = answer; (at = openapi_word(at, &n)); at += n) {
        const size_t n_name = strcspn(at, ":");
        json_put_text(w, at, n_name);
        bytes_add_format(&properties, "%s'%.*s':{'type':'%.*s'}", properties.n ? "," : "{", (int)n_name, at,
                         (int)(n - n_name - 1), at + n_name + 1);
    }
    json_put_end(w, ']');
    bytes_add_text(&properties, "}");
    json_put_key(w, "properties");
    openapi_put(w, properties.data ? properties.data : "{}");
    bytes_free(&properties);
}

static void put_json_type(json_writer *w, const char *media, const char *answer) {
    const bool is_array = strcmp(answer, "[]") == 0;
    json_member_begin(w, media, '{');
    json_member_begin(w, "schema", '{');
    json_member_string(w, "type", is_array ? "array" : "object");
    if (!is_array) put_members(w, answer);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

static void put_type(json_writer *w, const char *media, const char *schema) {
    json_member_begin(w, media, '{');
    json_put_key(w, "schema");
    openapi_put(w, schema);
    json_put_end(w, '}');
}

static void put_content(json_writer *w, const http_route *r, api_dialect dialect) {
    json_member_begin(w, "content", '{');
    if (strchr(r->answer, '/'))
        put_type(w, r->answer, strcmp(r->answer, EVENTS) == 0 ? EVENT_SCHEMA : "{'type':'string'}");
    else
        put_json_type(w, "application/json", r->answer);
    if (r->streams && dialect == DIALECT_OLLAMA) put_json_type(w, "application/x-ndjson", r->answer);
    if (r->streams && dialect != DIALECT_OLLAMA) put_type(w, EVENTS, EVENT_SCHEMA);
    json_put_end(w, '}');
}

static void put_answer(json_writer *w, const http_route *r, api_dialect dialect) {
    const bool is_socket = strcmp(r->answer, "websocket") == 0, is_empty = strcmp(r->answer, "") == 0;
    json_member_begin(w, is_socket ? "101" : is_empty ? "204" : "200", '{');
    json_member_string(w, "description",
                       is_socket  ? "The connection is a WebSocket"
                       : is_empty ? "Done"
                                  : "The answer");
    json_put_key(w, "headers");
    openapi_put(w, "{" REQUEST_ID "}");
    if (!is_socket && !is_empty) put_content(w, r, dialect);
    json_put_end(w, '}');
}

// ---- errors ---------------------------------------------------------------------------------------------------------

// Calls put() for each status of the table of errors, once.
static void each_error_status(json_writer *w, int dialect, void (*put)(json_writer *w, int status, int dialect)) {
    for (int i = 0; i < API_N_CODES; i++) {
        bool is_first = true;
        for (int k = 0; k < i; k++) is_first &= api_http_status((api_code)k) != api_http_status((api_code)i);
        if (is_first) put(w, api_http_status((api_code)i), dialect);
    }
}

static void put_error_reference(json_writer *w, int status, int dialect) {
    char text[64];
    snprintf(text, sizeof text, "%d", status);
    json_member_begin(w, text, '{');
    snprintf(text, sizeof text, "#/components/responses/%s_%d", dialects[dialect], status);
    json_member_string(w, "$ref", text);
    json_put_end(w, '}');
}

void openapi_put_responses(json_writer *w, const http_route *r) {
    const api_dialect dialect = api_dialect_of(&(http_request){.path = r->path});
    json_member_begin(w, "responses", '{');
    if (r->answer) put_answer(w, r, dialect);
    each_error_status(w, (int)dialect, put_error_reference);
    json_put_end(w, '}');
}

// The names of all codes, each once.
static void put_codes(json_writer *w) {
    json_member_begin(w, "code", '{');
    json_member_begin(w, "enum", '[');
    for (int i = 0; i < API_N_CODES; i++) {
        bool is_first = true;
        for (int k = 0; k < i; k++) is_first &= strcmp(api_code_name((api_code)k), api_code_name((api_code)i)) != 0;
        if (is_first) json_put_string(w, api_code_name((api_code)i));
    }
    json_put_end(w, ']');
    json_put_end(w, '}');
}

void openapi_put_error_schemas(json_writer *w) {
    char name[32];
    put_codes(w);
    for (int d = 0; d < N_DIALECTS; d++) {
        snprintf(name, sizeof name, "%s_error", dialects[d]);
        json_put_key(w, name);
        openapi_put(w, error_schemas[d]);
    }
}

static void put_error(json_writer *w, int status, int dialect) {
    const bool may_retry = status == 429 || status == 503;
    char text[64];
    bytes codes = {0};
    snprintf(text, sizeof text, "%s_%d", dialects[dialect], status);
    json_member_begin(w, text, '{');
    for (int i = 0; i < API_N_CODES; i++)
        if (api_http_status((api_code)i) == status)
            bytes_add_format(&codes, "%s%s", codes.n ? ", " : "", api_code_name((api_code)i));
    json_member_bytes(w, "description", &codes);
    bytes_free(&codes);
    json_put_key(w, "headers");
    openapi_put(w, may_retry ? "{" REQUEST_ID ",'Retry-After':{'$ref':'#/components/headers/Retry-After'}}"
                             : "{" REQUEST_ID "}");
    json_member_begin(w, "content", '{');
    json_member_begin(w, "application/json", '{');
    json_member_begin(w, "schema", '{');
    snprintf(text, sizeof text, "#/components/schemas/%s_error", dialects[dialect]);
    json_member_string(w, "$ref", text);
    for (int i = 0; i < 4; i++) json_put_end(w, '}');
}

void openapi_put_error_responses(json_writer *w) {
    json_member_begin(w, "responses", '{');
    for (int d = 0; d < N_DIALECTS; d++) each_error_status(w, d, put_error);
    json_put_end(w, '}');
}
