// serve/routes.c - the table of all routes.
#include "app/json_schema.h"
#include "serve/anthropic/messages.h"
#include "serve/http/http.h"
#include "serve/jobs/job_http.h"
#include "serve/native/form_check.h"
#include "serve/native/llama_completion.h"
#include "serve/native/lora_adapters.h"
#include "serve/native/native_generate.h"
#include "serve/native/rerank.h"
#include "serve/native/text_routes.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_embed.h"
#include "serve/openai/chat_completions.h"
#include "serve/openai/embeddings.h"
#include "serve/openai/responses.h"
#include "serve/status/openapi.h"
#include "serve/status/page.h"
#include "serve/status/route_status.h"
#include "serve/websocket/socket_streams.h"

// What answers have at least, where several routes have the same.
#define COMPLETION "id:string object:string created:integer model:string choices:array usage:object"
#define EMBEDDINGS "object:string data:array model:string usage:object"
#define RANKING    "id:string object:string model:string results:array usage:object"
#define SCORES     "id:string object:string created:integer model:string data:array usage:object"
#define LLAMA      "index:integer content:string tokens:array stop:boolean model:string"
#define RESPONSE   "id:string object:string created_at:integer status:string model:string output:array usage:object"
#define MESSAGE    "id:string type:string role:string content:array model:string stop_reason:string usage:object"
#define PROPS      "model_alias:string total_slots:integer n_ctx:integer default_generation_settings:object sampling:array"

#define ONCE(name, more)   "{'" name "':'Once upon a time'" more "}"
#define RANK               "{'query':'cats','documents':['A cat.','Dogs.']}"
#define SCORE              "{'text_1':'cats','text_2':['A cat.','Dogs.']}"
#define SAY                "'messages':[{'role':'user','content':'Once upon a time'}]"
#define NO_MODELS          "Refused: models are those that the server was started with"
#define QUERY(name, value) "{'name':'" name "','in':'query','schema':" value "}"
#define ITEMS_QUERY                                                                                                  \
    QUERY("limit", "{'type':'integer','minimum':1,'maximum':100,'default':20}")                                      \
    "," QUERY("order", SCHEMA_WORDS("'asc','desc'")) "," QUERY("after", SCHEMA_TEXT)

const http_route http_routes[] = {
    {"GET", "/health", route_health, .is_open = true, .summary = "Whether the process serves",
     .answer = "status:string"},
    {"GET", "/", route_page, .is_open = true, .is_page = true, .summary = "The page", .answer = "text/html"},
    {"GET", "/page/", route_page, .is_open = true, .is_page = true, .summary = "Files of the page", .below = "{file}",
     .answer = "*/*"},
    {"GET", "/ready", route_ready, .summary = "Whether requests are taken", .answer = "status:string"},
    {"GET", "/metrics", route_metrics, .summary = "Counts and histograms for Prometheus", .answer = "text/plain"},
    {"GET", "/openapi.json", route_openapi, .summary = "This description",
     .answer = "openapi:string info:object paths:object components:object"},
    {"GET", "/v1/models", route_models, .summary = "The models and their aliases", .answer = "data:array"},
    {"GET", "/v1/models/", route_model, .has_name = true, .summary = "One model", .below = "{model}",
     .answer = "id:string"},
    {"GET", "/props", route_props, .summary = "The first model, how it runs, and defaults", .answer = PROPS},
    {"GET", "/slots", route_slots, .summary = "What runs and waits", .answer = "[]"},
    {"POST", "/v1/chat/completions", route_chat_completions, .has_body = true, .streams = true, .summary = "Chat",
     .needs = "messages", .example = "{" SAY ",'max_tokens':8}", .answer = COMPLETION},
    {"POST", "/v1/completions", route_completions, .has_body = true, .is_brief = true, .streams = true,
     .summary = "Completions of prompts", .needs = "prompt", .example = ONCE("prompt", ",'max_tokens':8"),
     .answer = COMPLETION},
    {"POST", "/v1/responses", route_responses, .has_body = true, .streams = true, .summary = "Responses",
     .needs = "input", .example = ONCE("input", ",'max_output_tokens':8"), .answer = RESPONSE},
    {"POST", "/v1/responses/input_tokens", route_response_tokens, .has_body = true,
     .summary = "Tokens of the input of a response", .needs = "input", .example = ONCE("input", ""),
     .answer = "object:string input_tokens:integer"},
    {"GET", "/v1/responses/", route_response_get, .summary = "A stored response, or what it was made from",
     .below = "{response_id} {response_id}/input_items", .query = ITEMS_QUERY, .answer = "object:string"},
    {"DELETE", "/v1/responses/", route_response_delete, .has_no_slash = true, .summary = "Delete a stored response",
     .below = "{response_id}", .answer = "id:string object:string deleted:boolean"},
    {"POST", "/v1/messages", route_messages, .has_body = true, .streams = true, .summary = "Anthropic's messages",
     .needs = "messages max_tokens", .example = "{" SAY ",'max_tokens':8}", .answer = MESSAGE},
    {"POST", "/v1/messages/count_tokens", route_count_tokens, .has_body = true,
     .summary = "Tokens of the prompt of a message", .needs = "messages", .example = "{" SAY "}",
     .answer = "input_tokens:integer"},
    {"GET", "/api/version", route_ollama_version, .summary = "Ollama's version", .answer = "version:string"},
    {"GET", "/api/tags", route_ollama_tags, .summary = "Models for clients of Ollama", .answer = "models:array"},
    {"GET", "/api/ps", route_ollama_ps, .summary = "Loaded models for clients of Ollama", .answer = "models:array"},
    {"POST", "/api/show", route_ollama_show, .has_body = true, .summary = "A model for clients of Ollama",
     .needs = "model|name", .answer = "details:object model_info:object capabilities:array"},
    {"POST", "/api/chat", route_ollama_chat, .has_body = true, .streams = true, .summary = "Ollama's chat",
     .example = "{" SAY ",'options':{'num_predict':8}}",
     .answer = "model:string created_at:string message:object done:boolean"},
    {"POST", "/api/generate", route_ollama_generate, .has_body = true, .streams = true,
     .summary = "Ollama's generate", .example = ONCE("prompt", ",'options':{'num_predict':8}"),
     .answer = "model:string created_at:string response:string done:boolean"},
    {"POST", "/api/embed", route_ollama_embed, .has_body = true, .summary = "Ollama's embeddings of texts",
     .example = ONCE("input", ""), .answer = "model:string embeddings:array"},
    {"POST", "/api/embeddings", route_ollama_embeddings, .has_body = true, .summary = "Ollama's embedding of a text",
     .example = ONCE("prompt", ""), .answer = "embedding:array"},
    {"POST", "/api/pull", route_ollama_refused, .has_body = true, .summary = NO_MODELS},
    {"POST", "/api/push", route_ollama_refused, .has_body = true, .summary = NO_MODELS},
    {"POST", "/api/create", route_ollama_refused, .has_body = true, .summary = NO_MODELS},
    {"POST", "/api/copy", route_ollama_refused, .has_body = true, .summary = NO_MODELS},
    {"DELETE", "/api/delete", route_ollama_refused, .summary = NO_MODELS},
    {"POST", "/v1/embeddings", route_embeddings, .has_body = true, .summary = "Embeddings", .needs = "input",
     .example = ONCE("input", ""), .answer = EMBEDDINGS},
    {"POST", "/pooling", route_pooling, .has_body = true, .summary = "Embeddings, as vLLM has them", .needs = "input",
     .example = ONCE("input", ""), .answer = EMBEDDINGS},
    {"POST", "/rerank", route_rerank, .has_body = true, .summary = "Rank documents", .needs = "query documents",
     .example = RANK, .answer = RANKING},
    {"POST", "/v1/rerank", route_rerank, .has_body = true, .summary = "Rank documents", .needs = "query documents",
     .example = RANK, .answer = RANKING},
    {"POST", "/v2/rerank", route_rerank, .has_body = true, .summary = "Rank documents", .needs = "query documents",
     .example = RANK, .answer = RANKING},
    {"POST", "/score", route_score, .has_body = true, .summary = "Scores of pairs of texts", .needs = "text_1 text_2",
     .example = SCORE, .answer = SCORES},
    {"POST", "/v1/score", route_score, .has_body = true, .summary = "Scores of pairs of texts",
     .needs = "text_1 text_2", .example = SCORE, .answer = SCORES},
    {"POST", "/tokenize", route_tokenize, .has_body = true, .summary = "Tokens of a text",
     .needs = "content|prompt|messages", .example = ONCE("content", ""),
     .answer = "tokens:array count:integer max_model_len:integer"},
    {"POST", "/detokenize", route_detokenize, .has_body = true, .summary = "The text of tokens", .needs = "tokens",
     .example = "{'tokens':[5,6]}", .answer = "content:string prompt:string"},
    {"POST", "/apply-template", route_apply_template, .has_body = true,
     .summary = "A conversation as the prompt that its template makes", .needs = "messages", .example = "{" SAY "}",
     .answer = "prompt:string"},
    {"POST", "/completion", route_llama_completion, .has_body = true, .is_brief = true, .streams = true,
     .summary = "llama-server's completion", .needs = "prompt|ids", .example = ONCE("prompt", ",'n_predict':8"),
     .answer = LLAMA},
    {"POST", "/completions", route_llama_completion, .has_body = true, .is_brief = true, .streams = true,
     .summary = "llama-server's completion", .needs = "prompt|ids", .example = ONCE("prompt", ",'n_predict':8"),
     .answer = LLAMA},
    {"POST", "/infill", route_llama_infill, .has_body = true, .streams = true,
     .summary = "What stands between a prefix and a suffix", .needs = "input_prefix input_suffix",
     .example = ONCE("input_prefix", ",'input_suffix':'.','n_predict':8"), .answer = LLAMA},
    {"GET", "/lora-adapters", route_lora_adapters, .summary = "The adapters of the first model", .answer = "[]"},
    {"POST", "/lora-adapters", route_set_lora_adapters, .has_body = true,
     .summary = "Scales of adapters for requests that name none", .needs = "adapters", .example = "{'adapters':[]}",
     .answer = "success:boolean"},
    {"GET", "/version", route_version, .summary = "The version", .answer = "version:string"},
    {"GET", "/tokenizer_info", route_tokenizer_info, .summary = "The tokenizer of the first model",
     .answer = "tokenizer_class:string vocab_size:integer model_max_length:integer"},
    {"POST", "/v1/runnel/generate", route_generate, .has_body = true, .streams = true, .summary = "Generate",
     .needs = "prompt|ids|messages", .example = ONCE("prompt", ",'max_tokens':8"),
     .answer = "id:string created:integer model:string choices:array"},
    {"POST", "/v1/runnel/grammar", route_grammar, .has_body = true, .summary = "Check the form of an answer",
     .needs = "json_schema|json_mode|regex|choices|grammar|structural_tag",
     .example = "{'json_schema':{'type':'object'}}", .answer = "object:string bytes:integer"},
    {"GET", "/v1/stream", route_socket, .summary = "A WebSocket of many streams", .answer = "websocket"},
    {"DELETE", "/v1/runnel/sessions/", route_session_delete, .summary = "Forget a session", .below = "{session}",
     .answer = ""},
    {"GET", "/v1/runnel/streams/", route_stream_resume, .summary = "Resume a stream", .below = "{stream}",
     .query = QUERY("last_event_id", SCHEMA_TEXT), .answer = "text/event-stream"},
    {"DELETE", "/v1/runnel/streams/", route_stream_delete, .summary = "End a stream", .below = "{stream}",
     .answer = ""},
    {0},
};
