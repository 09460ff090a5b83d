// serve/anthropic/messages.h - the routes of Anthropic's messages interface.
#ifndef RN_SERVE_ANTHROPIC_MESSAGES_H
#define RN_SERVE_ANTHROPIC_MESSAGES_H

#include "serve/http/http.h"

void route_messages(struct server *s, http_exchange *x, const http_request *r);
void route_count_tokens(struct server *s, http_exchange *x, const http_request *r);

#endif
