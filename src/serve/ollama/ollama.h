// serve/ollama/ollama.h - the routes of Ollama's interface.
#ifndef RN_SERVE_OLLAMA_OLLAMA_H
#define RN_SERVE_OLLAMA_OLLAMA_H

#include "serve/http/http.h"

void route_ollama_chat(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_generate(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_version(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_tags(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_show(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_ps(struct server *s, http_exchange *x, const http_request *r);
void route_ollama_refused(struct server *s, http_exchange *x, const http_request *r); // pull, create, delete ...

#endif
