// serve/status/openapi_inside.h - what the files of openapi*.c share.
//
// Each writes one part of the description into an open writer. Texts of tables (routes.c, member rows) that are JSON have ' in place of ".
//
// Threads: the HTTP thread.
#ifndef RN_SERVE_STATUS_OPENAPI_INSIDE_H
#define RN_SERVE_STATUS_OPENAPI_INSIDE_H

#include "app/json_write.h"
#include "serve/api/api_error.h"
#include "serve/http/http.h"

// JSON with ' in place of ", as a value.
void openapi_put(json_writer *w, const char *json);
// The next word of a text whose words are apart by spaces, n bytes; NULL: there is none, or no text.
const char *openapi_word(const char *at, size_t *n);

// `requestBody`: what the route reads.
void openapi_put_body(json_writer *w, struct server *s, const http_route *r);
// The members of Ollama's `options`, as a schema.
void openapi_put_options(json_writer *w);
// `responses`: what the route answers, and every status of the table of errors.
void openapi_put_responses(json_writer *w, const http_route *r);
// The error bodies of each dialect, and a response for each of their statuses, for `components`.
void openapi_put_error_schemas(json_writer *w);
void openapi_put_error_responses(json_writer *w);

#endif
