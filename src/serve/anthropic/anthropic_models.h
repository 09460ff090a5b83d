// serve/anthropic/anthropic_models.h - GET /v1/models and /v1/models/NAME for clients of Anthropic's, which shares them with OpenAI.
#ifndef RN_SERVE_ANTHROPIC_ANTHROPIC_MODELS_H
#define RN_SERVE_ANTHROPIC_ANTHROPIC_MODELS_H

#include "app/json_write.h"
#include "serve/server.h"

void anthropic_put_model(const server *s, size_t i, const char *name,
                         json_writer *w);                   // name: the model's, or an alias
void anthropic_put_models(const server *s, json_writer *w); // one page of all

#endif
