// serve/routes.c - the table of all routes.
#include "serve/anthropic/messages.h"
#include "serve/http/http.h"
#include "serve/jobs/job_http.h"
#include "serve/native/llama_completion.h"
#include "serve/native/native_generate.h"
#include "serve/native/rerank.h"
#include "serve/native/text_routes.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_embed.h"
#include "serve/openai/chat_completions.h"
#include "serve/openai/embeddings.h"
#include "serve/openai/responses.h"
#include "serve/status/page.h"
#include "serve/status/route_status.h"
#include "serve/websocket/socket_streams.h"

const http_route http_routes[] = {
    {"GET", "/health", route_health, .is_open = true},
    {"GET", "/", route_page, .is_open = true, .is_page = true},
    {"GET", "/page/", route_page, .is_open = true, .is_page = true},
    {"GET", "/ready", route_ready},
    {"GET", "/metrics", route_metrics},
    {"GET", "/v1/models", route_models},
    {"GET", "/v1/models/", route_model, .has_name = true},
    {"GET", "/props", route_props},
    {"GET", "/slots", route_slots},
    {"POST", "/v1/chat/completions", route_chat_completions, .has_body = true},
    {"POST", "/v1/completions", route_completions, .has_body = true, .is_brief = true},
    {"POST", "/v1/responses", route_responses, .has_body = true},
    {"POST", "/v1/responses/input_tokens", route_response_tokens, .has_body = true},
    {"GET", "/v1/responses/", route_response_get},
    {"DELETE", "/v1/responses/", route_response_delete, .has_no_slash = true},
    {"POST", "/v1/messages", route_messages, .has_body = true},
    {"POST", "/v1/messages/count_tokens", route_count_tokens, .has_body = true},
    {"GET", "/api/version", route_ollama_version},
    {"GET", "/api/tags", route_ollama_tags},
    {"GET", "/api/ps", route_ollama_ps},
    {"POST", "/api/show", route_ollama_show, .has_body = true},
    {"POST", "/api/chat", route_ollama_chat, .has_body = true},
    {"POST", "/api/generate", route_ollama_generate, .has_body = true},
    {"POST", "/api/embed", route_ollama_embed, .has_body = true},
    {"POST", "/api/embeddings", route_ollama_embeddings, .has_body = true},
    {"POST", "/api/pull", route_ollama_refused, .has_body = true},
    {"POST", "/api/push", route_ollama_refused, .has_body = true},
    {"POST", "/api/create", route_ollama_refused, .has_body = true},
    {"POST", "/api/copy", route_ollama_refused, .has_body = true},
    {"DELETE", "/api/delete", route_ollama_refused},
    {"POST", "/v1/embeddings", route_embeddings, .has_body = true},
    {"POST", "/pooling", route_pooling, .has_body = true},
    {"POST", "/rerank", route_rerank, .has_body = true},
    {"POST", "/v1/rerank", route_rerank, .has_body = true},
    {"POST", "/v2/rerank", route_rerank, .has_body = true},
    {"POST", "/score", route_score, .has_body = true},
    {"POST", "/v1/score", route_score, .has_body = true},
    {"POST", "/tokenize", route_tokenize, .has_body = true},
    {"POST", "/detokenize", route_detokenize, .has_body = true},
    {"POST", "/apply-template", route_apply_template, .has_body = true},
    {"POST", "/completion", route_llama_completion, .has_body = true, .is_brief = true},
    {"POST", "/completions", route_llama_completion, .has_body = true, .is_brief = true},
    {"GET", "/version", route_version},
    {"GET", "/tokenizer_info", route_tokenizer_info},
    {"POST", "/v1/runnel/generate", route_generate, .has_body = true},
    {"GET", "/v1/stream", route_socket},
    {"DELETE", "/v1/runnel/sessions/", route_session_delete},
    {"GET", "/v1/runnel/streams/", route_stream_resume},
    {"DELETE", "/v1/runnel/streams/", route_stream_delete},
    {0},
};
