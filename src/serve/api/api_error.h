// serve/api/api_error.h - errors: one table of codes (docs/server-api.md), written in the form of each dialect.
#ifndef RN_SERVE_API_API_ERROR_H
#define RN_SERVE_API_API_ERROR_H

#include "app/json_write.h"
#include "serve/http/http.h"
#include <runnel/status.h>

typedef enum api_code {
    API_INVALID_JSON,
    API_INVALID_VALUE,
    API_MISSING_PARAMETER,
    API_UNSUPPORTED_PARAMETER,
    API_UNKNOWN_PARAMETER,
    API_CONTEXT_LENGTH,
    API_INVALID_TOKEN,
    API_TEMPLATE_ERROR,
    API_INVALID_KEY,
    API_FORBIDDEN_ORIGIN,
    API_UNKNOWN_URL,
    API_MODEL_NOT_FOUND,
    API_STREAM_NOT_FOUND,
    API_RESPONSE_NOT_FOUND,
    API_METHOD_NOT_ALLOWED,
    API_REQUEST_TIMEOUT,
    API_STREAM_BUSY,
    API_STREAM_EXPIRED,
    API_REQUEST_TOO_LARGE,
    API_URI_TOO_LONG,
    API_HEADERS_TOO_LARGE,
    API_UNSUPPORTED_MEDIA_TYPE,
    API_QUEUE_FULL,
    API_RATE_LIMIT,
    API_CANCELLED,
    API_INTERNAL_ERROR,
    API_NOT_IMPLEMENTED,
    API_SHUTTING_DOWN,
    API_SERVER_BUSY,
    API_KV_EXHAUSTED,
    API_QUEUE_TIMEOUT,
    API_OUT_OF_MEMORY,
    API_HTTP_VERSION,
    API_N_CODES
} api_code;

typedef struct api_error {
    api_code code;
    char param[128]; // "messages[3].content"; "": null
    char message[1024];
    int32_t n_prompt_tokens, n_ctx; // > 0: members of the error, as llama-server has them
    int32_t retry_after;            // seconds; > 0: a header
} api_error;

__attribute__((format(printf, 4, 5))) bool api_fail(api_error *e, api_code code, const char *param, const char *fmt,
                                                    ...); // false
bool api_fail_status(api_error *e, rn_status st, const rn_error *err,
                     const char *param); // an error of the library; returns false
// The prompt does not fit the context: in OpenAI's words, by which clients recognize it. what: the member that holds the prompt.
bool api_fail_context(api_error *e, const char *what, int32_t n_prompt_tokens, int32_t n_ctx); // false
// The library begins messages with the path of the file that they are about. Of such paths clients see the last name only: call this at
// start for each path that was opened, before other threads run.
void api_hide_folder_of(const char *path);
// Leaves the folders out of a message: where it begins, and after a ": ". Elsewhere, as in quotes, stands what the client sent, and
// leaving something out of that would tell that the client has guessed a folder.
void api_hide_folders(char *message);
int api_http_status(api_code code);
const char *api_code_name(api_code code); // "invalid_json"
// The dialect that an exchange's errors are written in. By path, so that errors found before a route runs (a wrong key, an unknown
// path, a body that is too large) have the form that the client reads too.
typedef enum api_dialect { DIALECT_OPENAI, DIALECT_ANTHROPIC, DIALECT_OLLAMA } api_dialect;
api_dialect api_dialect_of(const http_request *r); // r->path NULL: DIALECT_OPENAI
// OpenAI: {"error": {"message", "type", "param", "code"}}. Anthropic: {"type": "error", "error": {"type", "message"}, "request_id"}.
// Ollama: {"error": "message"}. request_id: NULL where none is known.
void api_error_write_as(const api_error *e, api_dialect d, const char *request_id, json_writer *w);
void api_error_write(const api_error *e, json_writer *w); // OpenAI's
// The whole body of api_no_memory: constant, so that it can be sent when nothing can be allocated.
const char *api_no_memory_text(api_dialect d);
extern const api_error api_no_memory; // for a request that could not even be set up
// x NULL: a request that only lists members (http_request.listing), which nobody waits for.
void api_answer_error(http_exchange *x, const api_error *e);

#endif
