// serve/status/openapi.h - GET /openapi.json: the routes, described (OpenAPI 3.1) by the tables that they are read with.
//
// Threads: the HTTP thread.
#ifndef RN_SERVE_STATUS_OPENAPI_H
#define RN_SERVE_STATUS_OPENAPI_H

#include "serve/http/http.h"

void route_openapi(struct server *s, http_exchange *x, const http_request *r);

#endif
