// serve/native/lora_adapters.h - llama-server's GET and POST /lora-adapters: the adapters of the first model, and their scales for requests
// that name none.
#ifndef RN_SERVE_NATIVE_LORA_ADAPTERS_H
#define RN_SERVE_NATIVE_LORA_ADAPTERS_H

#include "serve/http/http.h"

void route_lora_adapters(struct server *s, http_exchange *x, const http_request *r);
void route_set_lora_adapters(struct server *s, http_exchange *x, const http_request *r);

#endif
