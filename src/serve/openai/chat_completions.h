// serve/openai/chat_completions.h - the routes of OpenAI's chat and completions interfaces.
#ifndef RN_SERVE_OPENAI_CHAT_COMPLETIONS_H
#define RN_SERVE_OPENAI_CHAT_COMPLETIONS_H

#include "serve/http/http.h"

void route_chat_completions(struct server *s, http_exchange *x, const http_request *r);
void route_completions(struct server *s, http_exchange *x, const http_request *r);

#endif
