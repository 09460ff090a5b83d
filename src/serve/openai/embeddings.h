// serve/openai/embeddings.h - the route of OpenAI's embeddings interface.
#ifndef RN_SERVE_OPENAI_EMBEDDINGS_H
#define RN_SERVE_OPENAI_EMBEDDINGS_H

#include "serve/http/http.h"

void route_embeddings(struct server *s, http_exchange *x, const http_request *r);
void route_pooling(struct server *s, http_exchange *x, const http_request *r);

#endif
