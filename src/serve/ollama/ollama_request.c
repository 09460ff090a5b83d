// serve/ollama/ollama_request.c - see ollama_request.h.
#include "serve/ollama/ollama_request.h"
#include "app/say.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_GROUPS = 4 };

bool ollama_request_open(ollama_request *q, struct server *s, const http_request *http) {
    *q = (ollama_request){0};
    api_generation_init(&q->g);
    chat_form_init(&q->chat);
    q->g.delivery.is_stream = true;
    return api_request_open(&q->r, s, http, http->body, http->n_body);
}

void ollama_request_close(ollama_request *q) {
    chat_form_free(&q->chat);
    api_request_close(&q->r);
}

// ---- options --------------------------------------------------------------------------------------------------------

// -2: as much as the context has room for, as -1.
static bool each_n_predict(void *target, size_t i, const char *key, const json_item *value, char *why) {
    int64_t n;
    (void)i, (void)key;
    if (!json_item_whole(value, -2, INT32_MAX, &n, why)) return false;
    ((ollama_request *)target)->g.g.n = n < 0 ? -1 : (int32_t)n;
    return true;
}

static const member option_rows[] = {
    {"num_predict", MEMBER_EACH, .each = each_n_predict, .schema = SCHEMA_WHOLE("-2", "2147483647")},
    {"num_ctx", MEMBER_INT, offsetof(ollama_request, n_ctx), 1, INT32_MAX},
};

// Sampling, stopping and delivery have the names that they have elsewhere, which are mostly Ollama's.
enum { OPTION_GROUPS = 2 };
static void make_option_groups(ollama_request *q, api_generation_rows *made, member_group groups[OPTION_GROUPS]) {
    static const char *const left_out[] = {"logprobs",
                                           "sampled_logprobs",
                                           "echo",
                                           "prompt_logprobs",
                                           "n",
                                           "stream",
                                           "stream_options",
                                           "resumable",
                                           "return_progress",
                                           "truncate_prompt_tokens",
                                           "return_token_ids",
                                           "return_tokens_as_token_ids",
                                           NULL};
    api_generation_make_rows(made, left_out);
    groups[0] = (member_group)API_GENERATION_GROUP(made, &q->g);
    groups[1] = (member_group){option_rows, sizeof option_rows / sizeof *option_rows, q};
}

static bool each_options(void *target, size_t i, const char *key, const json_item *value, char *why) {
    ollama_request *const q = target;
    api_generation_rows made;
    member_group groups[OPTION_GROUPS];
    (void)i, (void)key;
    make_option_groups(q, &made, groups);
    return api_request_read_object(&q->r, value, groups, OPTION_GROUPS, &api_foreign_members, why);
}

void ollama_list_options(api_listing *l) {
    ollama_request q = {0};
    api_generation_rows made;
    member_group groups[OPTION_GROUPS];
    api_generation_init(&q.g);
    make_option_groups(&q, &made, groups);
    l->take(l, groups, OPTION_GROUPS, &api_foreign_members);
}

// ---- other members --------------------------------------------------------------------------------------------------

// true, false, or how much: "low", "medium", "high".
static bool each_think(void *target, size_t i, const char *key, const json_item *value, char *why) {
    static const char *const words[] = {"low", "medium", "high"};
    chat_form *const c = &((ollama_request *)target)->chat;
    int32_t word;
    bool is_on = true;
    (void)i, (void)key;
    if (json_item_is_text(value)) {
        if (!json_item_word(value, words, 3, &word, why)) return false;
        chat_form_set_variable(c, "reasoning_effort", value);
    } else if (!json_item_bool(value, &is_on, why))
        return false;
    chat_form_set_thinking(c, is_on);
    return true;
}

// How long a model stays loaded: here, always.
static bool each_keep_alive(void *target, size_t i, const char *key, const json_item *value, char *why) {
    double seconds;
    (void)target, (void)i, (void)key;
    return json_item_is_text(value) || json_item_real(value, -1e18, 1e18, &seconds, why);
}

static const member rows[] = {
    {"name", MEMBER_NAME, offsetof(ollama_request, old_name)},
    {"stream", MEMBER_BOOL, offsetof(ollama_request, g.delivery.is_stream)},
    {"options", MEMBER_EACH, .each = each_options, .schema = "{'$ref':'#/components/schemas/ollama_options'}"},
    {"think", MEMBER_EACH, .each = each_think,
     .schema = SCHEMA_EITHER(SCHEMA_BOOL, SCHEMA_WORDS("'low','medium','high'"))},
    {"keep_alive", MEMBER_EACH, .each = each_keep_alive, .schema = SCHEMA_EITHER(SCHEMA_TEXT, SCHEMA_NUMBER)},
    {"logprobs", MEMBER_BOOL, offsetof(ollama_request, has_logprobs)},
    {"top_logprobs", MEMBER_INT, offsetof(ollama_request, n_top), 0, 20},
};

bool ollama_find_model(api_request *r) {
    static const char tag[] = ":latest";
    const char *const name = r->model_name ? r->model_name : "";
    const size_t n = strlen(name), n_tag = sizeof tag - 1;
    int32_t i = server_find(r->server, name, &r->adapter);
    if (i < 0 && n > n_tag && strcmp(name + n - n_tag, tag) == 0) {
        char *const plain = app_text("%.*s", (int)(n - n_tag), name);
        i = plain ? server_find(r->server, plain, &r->adapter) : -1;
        free(plain);
    }
    if (i < 0)
        return api_fail(&r->error, API_MODEL_NOT_FOUND, "model",
                        "model: '%.64s' not found (GET /api/tags lists the models)", name);
    r->model = (size_t)i;
    return true;
}

static bool check_context(const ollama_request *q, api_error *e) {
    rn_engine_info info = {.struct_size = sizeof info};
    if (q->n_ctx == 0 || rn_engine_get_info(q->r.server->engine, q->r.model, &info, NULL) != RN_OK ||
        q->n_ctx <= info.n_ctx)
        return true;
    return api_fail(e, API_UNSUPPORTED_PARAMETER, "options.num_ctx",
                    "options: num_ctx: %d is more than this server's context of %d tokens (runnel serve --ctx)",
                    q->n_ctx, info.n_ctx);
}

bool ollama_request_read(ollama_request *q, const member_group *more, size_t n_more, const api_refusals *refusals) {
    member_group groups[MORE_GROUPS + 2] = {API_COMMON_GROUP(&q->r), {rows, sizeof rows / sizeof *rows, q}};
    for (size_t i = 0; i < n_more && i < MORE_GROUPS; i++) groups[2 + i] = more[i];
    if (!api_request_read(&q->r, groups, 2 + n_more, refusals)) {
        if (q->is_unsupported || q->chat.is_unsupported) q->r.error.code = API_UNSUPPORTED_PARAMETER;
        return false;
    }
    if (!q->r.model_name) q->r.model_name = q->old_name;
    return ollama_find_model(&q->r) && check_context(q, &q->r.error) &&
           api_generation_check(&q->g, q->r.server, 1, &q->r.error);
}

bool ollama_request_apply(ollama_request *q, rn_request *req, generation_parts *parts) {
    rn_request_init(req);
    if (!api_generation_apply(&q->g, q->r.server, req, parts, 0, &q->r.error)) return false;
    req->logprobs = q->has_logprobs ? q->n_top : -1;
    req->model = q->r.model;
    return true;
}
