// serve/api/api_error.c - see api_error.h.
#include "serve/api/api_error.h"
#include "app/say.h"
#include "serve/server.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char INVALID[] = "invalid_request_error", SERVER[] = "server_error", RATE[] = "rate_limit_error";
static const struct {
    int status;
    const char *type, *code;
} rows[API_N_CODES] = {
    [API_INVALID_JSON] = {400, INVALID, "invalid_json"},
    [API_INVALID_VALUE] = {400, INVALID, "invalid_value"},
    [API_MISSING_PARAMETER] = {400, INVALID, "missing_required_parameter"},
    [API_UNSUPPORTED_PARAMETER] = {400, INVALID, "unsupported_parameter"},
    [API_UNKNOWN_PARAMETER] = {400, INVALID, "unknown_parameter"},
    [API_CONTEXT_LENGTH] = {400, INVALID, "context_length_exceeded"},
    [API_INVALID_TOKEN] = {400, INVALID, "invalid_token"},
    [API_TEMPLATE_ERROR] = {400, INVALID, "template_error"},
    [API_INVALID_KEY] = {401, "authentication_error", "invalid_api_key"},
    [API_FORBIDDEN_ORIGIN] = {403, "permission_error", "forbidden_origin"},
    [API_UNKNOWN_URL] = {404, "not_found_error", "unknown_url"},
    [API_MODEL_NOT_FOUND] = {404, INVALID, "model_not_found"},
    [API_STREAM_NOT_FOUND] = {404, "not_found_error", "stream_not_found"},
    [API_RESPONSE_NOT_FOUND] = {404, "not_found_error", "response_not_found"},
    [API_METHOD_NOT_ALLOWED] = {405, INVALID, "method_not_allowed"},
    [API_REQUEST_TIMEOUT] = {408, INVALID, "request_timeout"},
    [API_STREAM_BUSY] = {409, INVALID, "stream_busy"},
    [API_STREAM_EXPIRED] = {410, INVALID, "stream_expired"},
    [API_REQUEST_TOO_LARGE] = {413, INVALID, "request_too_large"},
    [API_URI_TOO_LONG] = {414, INVALID, "request_too_large"},
    [API_HEADERS_TOO_LARGE] = {431, INVALID, "request_too_large"},
    [API_UNSUPPORTED_MEDIA_TYPE] = {415, INVALID, "unsupported_media_type"},
    [API_QUEUE_FULL] = {429, RATE, "queue_full"},
    [API_RATE_LIMIT] = {429, RATE, "rate_limit_exceeded"},
    [API_CANCELLED] = {400, INVALID, "cancelled"}, // 400: clients do not retry it on their own
    [API_INTERNAL_ERROR] = {500, SERVER, "internal_error"},
    [API_NOT_IMPLEMENTED] = {501, INVALID, "not_implemented"},
    [API_SHUTTING_DOWN] = {503, SERVER, "shutting_down"},
    [API_SERVER_BUSY] = {503, SERVER, "server_busy"},
    [API_KV_EXHAUSTED] = {503, SERVER, "kv_exhausted"},
    [API_QUEUE_TIMEOUT] = {503, SERVER, "queue_timeout"},
    [API_OUT_OF_MEMORY] = {503, SERVER, "out_of_memory"},
    [API_HTTP_VERSION] = {505, INVALID, "http_version_not_supported"},
};

// ---- folders --------------------------------------------------------------------------------------------------------

enum { FOLDERS = 64, FOLDER_BYTES = 4096 };
static char *folders[FOLDERS]; // each ends with a slash; constant once the server runs
static size_t n_folders;

static void hide(const char *path) {
    const char *const slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n < 2 || n_folders == FOLDERS) return;
    for (size_t i = 0; i < n_folders; i++)
        if (strlen(folders[i]) == n && strncmp(folders[i], path, n) == 0) return;
    char *const folder = app_text("%.*s", (int)n, path);
    if (folder) folders[n_folders++] = folder;
}

void api_hide_folder_of(const char *path) {
    char *const real = realpath(path, NULL);
    char *const given = app_copy_text(path);
    for (size_t n = given ? strlen(given) : 0; n > 1 && given[n - 1] == '/';) given[--n] = '\0';
    if (real) hide(real);
    if (given) hide(given);
    free(given);
    free(real);
}

void api_hide_folders(char *message) {
    for (char *at = message, *next; at; at = next) {
        for (size_t i = 0; i < n_folders; i++) {
            const size_t n = strlen(folders[i]);
            if (strncmp(at, folders[i], n) == 0) memmove(at, at + n, strlen(at + n) + 1);
        }
        next = strstr(at, ": ");
        if (next) next += 2;
    }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

bool api_fail(api_error *e, api_code code, const char *param, const char *fmt, ...) {
    char text[sizeof e->message + FOLDER_BYTES]; // so that no folder's name is cut off before it is found
    va_list args;
    *e = (api_error){.code = code};
    // Clients that may retry get a Retry-After.
    if (rows[code].status == 429 || rows[code].status == 503) e->retry_after = 1;
    if (param) snprintf(e->param, sizeof e->param, "%s", param);
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    api_hide_folders(text);
    memcpy(e->message, text, strnlen(text, sizeof e->message - 1));
    return false;
}

bool api_fail_context(api_error *e, const char *what, int32_t n_prompt_tokens, int32_t n_ctx) {
    api_fail(e, API_CONTEXT_LENGTH, what,
             "This model's maximum context length is %d tokens. However, your %s resulted in %d tokens. "
             "Please reduce the length of the %s.",
             n_ctx, what, n_prompt_tokens, what);
    e->n_prompt_tokens = n_prompt_tokens;
    e->n_ctx = n_ctx;
    return false;
}

bool api_fail_status(api_error *e, rn_status st, const rn_error *err, const char *param) {
    static const struct {
        rn_status st;
        api_code code;
    } codes[] = {
        {RN_E_ARG, API_INVALID_VALUE},     {RN_E_UNSUPPORTED, API_UNSUPPORTED_PARAMETER},
        {RN_E_STATE, API_STREAM_BUSY},     {RN_E_LIMIT, API_CONTEXT_LENGTH},
        {RN_E_FORMAT, API_TEMPLATE_ERROR}, {RN_E_CANCELLED, API_SHUTTING_DOWN},
        {RN_E_BUSY, API_QUEUE_FULL},       {RN_E_NOMEM, API_OUT_OF_MEMORY},
    };
    api_code code = API_INTERNAL_ERROR;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].st == st) code = codes[i].code;
    return api_fail(e, code, param, "%s", err->text);
}

int api_http_status(api_code code) { return rows[code].status; }
const char *api_code_name(api_code code) { return rows[code].code; }

static bool has_prefix(const char *path, const char *prefix) { return strncmp(path, prefix, strlen(prefix)) == 0; }

api_dialect api_dialect_of(const http_request *r) {
    if (!r->path) return DIALECT_OPENAI;
    if (has_prefix(r->path, "/api/")) return DIALECT_OLLAMA;
    if (strcmp(r->path, "/v1/messages") == 0 || has_prefix(r->path, "/v1/messages/")) return DIALECT_ANTHROPIC;
    // The one path that two dialects share. Every client of Anthropic's sends the header, as its API demands.
    const bool is_shared = strcmp(r->path, "/v1/models") == 0 || has_prefix(r->path, "/v1/models/");
    return is_shared && http_header(r, "anthropic-version") ? DIALECT_ANTHROPIC : DIALECT_OPENAI;
}

static void write_anthropic(const api_error *e, const char *request_id, json_writer *w) {
    static const struct {
        int status;
        const char *type;
    } types[] = {{401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
                 {413, "request_too_large"},    {429, "rate_limit_error"}, {500, "api_error"},
                 {503, "overloaded_error"}};
    const char *type = INVALID;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].status == rows[e->code].status) type = types[i].type;
    json_put_begin(w, '{');
    json_member_string(w, "type", "error");
    json_member_begin(w, "error", '{');
    json_member_string(w, "type", type);
    json_member_string(w, "message", e->message);
    json_put_end(w, '}');
    if (request_id) json_member_string(w, "request_id", request_id);
    json_put_end(w, '}');
}

static void write_ollama(const api_error *e, json_writer *w) {
    json_put_begin(w, '{');
    json_member_string(w, "error", e->message);
    json_put_end(w, '}');
}

void api_error_write(const api_error *e, json_writer *w) {
    json_put_begin(w, '{');
    json_member_begin(w, "error", '{');
    json_member_string(w, "message", e->message);
    json_member_string(w, "type", rows[e->code].type);
    json_member_string(w, "param", *e->param ? e->param : NULL);
    json_member_string(w, "code", rows[e->code].code);
    if (e->n_prompt_tokens > 0) json_member_whole(w, "n_prompt_tokens", e->n_prompt_tokens);
    if (e->n_ctx > 0) json_member_whole(w, "n_ctx", e->n_ctx);
    json_put_end(w, '}');
    json_put_end(w, '}');
}

void api_error_write_as(const api_error *e, api_dialect d, const char *request_id, json_writer *w) {
    switch (d) {
    case DIALECT_ANTHROPIC: write_anthropic(e, request_id, w); return;
    case DIALECT_OLLAMA: write_ollama(e, w); return;
    case DIALECT_OPENAI: break;
    }
    api_error_write(e, w);
}

#define NO_MEMORY "memory: the server has none left for this request"
const char *api_no_memory_text(api_dialect d) {
    static const char *const texts[] = {
        [DIALECT_OPENAI] = "{\"error\":{\"message\":\"" NO_MEMORY
                           "\",\"type\":\"server_error\",\"param\":null,\"code\":\"out_of_memory\"}}",
        [DIALECT_ANTHROPIC] =
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"" NO_MEMORY "\"}}",
        [DIALECT_OLLAMA] = "{\"error\":\"" NO_MEMORY "\"}"};
    return texts[d];
}

const api_error api_no_memory = {.code = API_OUT_OF_MEMORY, .retry_after = 1, .message = NO_MEMORY};

void api_answer_error(http_exchange *x, const api_error *e) {
    char retry[48];
    const char *headers[3] = {0};
    size_t n = 0;
    bytes body = {0};
    if (!x) return;
    metrics_error(&http_exchange_server(x)->metrics, e->code);
    snprintf(retry, sizeof retry, "Retry-After: %d", e->retry_after);
    if (e->retry_after > 0) headers[n++] = retry;
    if (e->code == API_INVALID_KEY) headers[n++] = "WWW-Authenticate: Bearer";
    api_error_write_as(e, (api_dialect)http_exchange_dialect(x), http_exchange_id(x), &(json_writer){.out = &body});
    http_answer(x, rows[e->code].status, "application/json", headers, body.data, body.n);
    bytes_free(&body);
}
