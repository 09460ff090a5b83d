// serve/native/form_check.h - POST /v1/runnel/grammar: the form of an answer, compiled and not used.
#ifndef RN_SERVE_NATIVE_FORM_CHECK_H
#define RN_SERVE_NATIVE_FORM_CHECK_H

#include "serve/http/http.h"

void route_grammar(struct server *s, http_exchange *x, const http_request *r);

#endif
