// serve/ollama/ollama_embed.h - the routes of Ollama's embeddings.
#ifndef RN_SERVE_OLLAMA_OLLAMA_EMBED_H
#define RN_SERVE_OLLAMA_OLLAMA_EMBED_H

#include "serve/http/http.h"

void route_ollama_embed(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_embeddings(struct server *s, http_exchange *x, const http_request *r); // the older one: one prompt

#endif
