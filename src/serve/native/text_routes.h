// serve/native/text_routes.h - routes that run no model: tokenize, detokenize, apply a chat template.
#ifndef RN_SERVE_NATIVE_TEXT_ROUTES_H
#define RN_SERVE_NATIVE_TEXT_ROUTES_H

#include "serve/http/http.h"

void route_tokenize(struct server *s, http_exchange *x, const http_request *r);
void route_detokenize(struct server *s, http_exchange *x, const http_request *r);
void route_apply_template(struct server *s, http_exchange *x, const http_request *r);

#endif
