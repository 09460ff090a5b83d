// serve/native/rerank.h - the route that ranks documents for a query, in the form that Jina's and Cohere's clients use.
#ifndef RN_SERVE_NATIVE_RERANK_H
#define RN_SERVE_NATIVE_RERANK_H

#include "serve/http/http.h"

void route_rerank(struct server *s, http_exchange *x, const http_request *r);
void route_score(struct server *s, http_exchange *x, const http_request *r);

#endif
