// serve/native/llama_completion.h - POST /completion, /completions and /infill as llama-server has them.
#ifndef RN_SERVE_NATIVE_LLAMA_COMPLETION_H
#define RN_SERVE_NATIVE_LLAMA_COMPLETION_H

#include "serve/http/http.h"

void route_llama_completion(struct server *s, http_exchange *x, const http_request *r);
void route_llama_infill(struct server *s, http_exchange *x, const http_request *r);

#endif
