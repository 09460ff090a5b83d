// serve/status/route_status.h - status routes: health, readiness, metrics, models, properties, slots.
#ifndef RN_SERVE_STATUS_ROUTE_STATUS_H
#define RN_SERVE_STATUS_ROUTE_STATUS_H

#include "serve/http/http.h"

void route_health(struct server *s, http_exchange *x, const http_request *r);
void route_ready(struct server *s, http_exchange *x, const http_request *r);
void route_metrics(struct server *s, http_exchange *x, const http_request *r);
void route_models(struct server *s, http_exchange *x, const http_request *r);
void route_model(struct server *s, http_exchange *x, const http_request *r); // /v1/models/NAME
void route_props(struct server *s, http_exchange *x, const http_request *r);
// As vLLM has them, and lm-eval reads them: of the first model.
void route_version(struct server *s, http_exchange *x, const http_request *r);
void route_tokenizer_info(struct server *s, http_exchange *x, const http_request *r);
void route_slots(struct server *s, http_exchange *x, const http_request *r);

#endif
