// serve/status/route_status.c - see route_status.h.
#include "serve/status/route_status.h"
#include "serve/anthropic/anthropic_models.h"
#include "serve/api/sampling_json.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>

static void answer(http_exchange *x, bytes *body) { http_answer_json(x, 200, body); }

static void answer_status(http_exchange *x, const char *status) {
    bytes body = {0};
    json_writer w = {.out = &body};
    json_put_begin(&w, '{');
    json_member_string(&w, "status", status);
    json_put_end(&w, '}');
    answer(x, &body);
}

void route_health(struct server *s, http_exchange *x, const http_request *r) {
    (void)s, (void)r;
    answer_status(x, "ok");
}

void route_ready(struct server *s, http_exchange *x, const http_request *r) {
    (void)r;
    if (!atomic_load(&s->is_draining)) {
        answer_status(x, "ready");
        return;
    }
    api_error e;
    api_fail(&e, API_SHUTTING_DOWN, NULL, "server: shutting down");
    api_answer_error(x, &e);
}

void route_metrics(struct server *s, http_exchange *x, const http_request *r) {
    bytes page = {0};
    (void)r;
    metrics_add_page(s, &page);
    http_answer_bytes(x, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, &page);
    bytes_free(&page);
}

// Writes the sampling defaults.
static void put_defaults(json_writer *w, const char *name) {
    rn_field f;
    json_member_begin(w, name, '{');
    for (size_t i = 0; i < rn_n_sampling_fields(); i++) {
        if (!rn_sampling_field(i, &f)) continue;
        json_put_key(w, f.name);
        if (f.is_int)
            json_put_whole(w, (int64_t)f.def);
        else
            json_put_float(w, (float)f.def);
    }
    json_put_end(w, '}');
}

static void put_meta(const server *s, size_t i, json_writer *w) {
    rn_model_info m = {.struct_size = sizeof m};
    rn_engine_info e = {.struct_size = sizeof e};
    json_member_begin(w, "meta", '{');
    if (rn_model_get_info(s->models[i].model, &m, NULL) == RN_OK &&
        rn_engine_get_info(s->engine, i, &e, NULL) == RN_OK) {
        json_member_string(w, "architecture", m.architecture);
        json_member_string(w, "format", m.format);
        json_member_string(w, "tokenizer", m.tokenizer);
        json_member_whole(w, "n_vocab", m.n_vocab);
        json_member_whole(w, "n_ctx", e.n_ctx);
        json_member_whole(w, "n_ctx_train", m.n_ctx_train);
        json_member_whole(w, "n_embd", m.n_embd);
        json_member_whole(w, "n_params", (int64_t)m.n_params);
        json_member_whole(w, "size", (int64_t)m.file_bytes);
        json_member_bool(w, "has_chat_template", m.chat_template != NULL);
        json_member_bool(w, "can_chat", s->models[i].can_chat);
        json_member_bool(w, "sees", s->models[i].sees);
    }
    put_defaults(w, "default_sampling");
    json_put_end(w, '}');
}

// name: the model's, or an alias.
static void put_model(const server *s, size_t i, const char *name, json_writer *w) {
    json_put_begin(w, '{');
    json_member_string(w, "id", name);
    json_member_string(w, "object", "model");
    json_member_whole(w, "created", s->started);
    json_member_string(w, "owned_by", "runnel");
    json_member_string(w, "root", s->models[i].name);
    if (server_find_model(s, name) < 0) json_member_string(w, "parent", s->models[i].name); // an adapter
    put_meta(s, i, w);
    json_put_end(w, '}');
}

void route_models(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    (void)r;
    if (http_exchange_dialect(x) == DIALECT_ANTHROPIC) {
        anthropic_put_models(s, &w);
        answer(x, &body);
        return;
    }
    json_put_begin(&w, '{');
    json_member_string(&w, "object", "list");
    json_member_begin(&w, "data", '[');
    for (size_t i = 0; i < s->n_models; i++) put_model(s, i, s->models[i].name, &w);
    for (size_t i = 0; i < s->n_aliases; i++) put_model(s, s->aliases[i].model, s->aliases[i].name, &w);
    const char *name;
    for (size_t i = 0; (name = server_adapter_name(s, i)); i++) put_model(s, 0, name, &w);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    answer(x, &body);
}

// Percent-escapes (RFC 3986, section 2.1), which http_head.c has checked, become bytes. False: longer than a name, or a NUL.
static bool unescape(const char *text, char name[SERVER_NAME + 1]) {
    size_t n = 0;
    for (; *text && n < SERVER_NAME; n++) {
        char digits[3] = {0};
        const bool is_escape = *text == '%' && text[1] && text[2];
        if (is_escape) memcpy(digits, text + 1, 2);
        name[n] = is_escape ? (char)strtoul(digits, NULL, 16) : *text;
        text += is_escape ? 3 : 1;
        if (!name[n]) return false;
    }
    name[n] = '\0';
    return !*text;
}

void route_model(struct server *s, http_exchange *x, const http_request *r) {
    char name[SERVER_NAME + 1];
    const bool is_name = unescape(r->path + strlen("/v1/models/"), name);
    int32_t adapter;
    const int32_t i = is_name && *name ? server_find(s, name, &adapter) : -1;
    bytes body = {0};
    api_error e;
    if (i < 0) {
        api_fail(&e, API_MODEL_NOT_FOUND, "model", "model: unknown (GET /v1/models lists the models)");
        api_answer_error(x, &e);
        return;
    }
    (http_exchange_dialect(x) == DIALECT_ANTHROPIC ? anthropic_put_model : put_model)(s, (size_t)i, name,
                                                                                      &(json_writer){.out = &body});
    answer(x, &body);
}

void route_props(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    rn_model_info m = {.struct_size = sizeof m};
    rn_engine_info e = {.struct_size = sizeof e};
    (void)r;
    json_put_begin(&w, '{');
    json_member_string(&w, "build_info", rn_version());
    json_member_string(&w, "model_alias", s->models[0].name);
    json_member_whole(&w, "total_slots", s->n_streams);
    json_member_whole(&w, "queue", s->n_queue);
    if (rn_model_get_info(s->models[0].model, &m, NULL) == RN_OK &&
        rn_engine_get_info(s->engine, 0, &e, NULL) == RN_OK) {
        json_member_whole(&w, "n_ctx", e.n_ctx);
        json_member_string(&w, "chat_template", m.chat_template);
        json_member_begin(&w, "modalities", '{');
        json_member_bool(&w, "vision", s->models[0].sees);
        json_member_bool(&w, "audio", false);
        json_put_end(&w, '}');
        json_member_string(&w, "cpu", e.cpu);
        json_member_string(&w, "arithmetic", e.arithmetic);
        json_member_string(&w, "kv_type", e.kv_type);
        json_member_whole(&w, "n_threads", e.n_threads);
    }
    put_defaults(&w, "default_generation_settings");
    sampling_put_fields(&w, "sampling");
    sampling_put_presets(&w, "presets");
    sampling_put_strategies(&w, "strategies", s);
    sampling_put_strategy_options(&w, "strategy_options");
    json_member_begin(&w, "mcp_servers", '[');
    for (size_t i = 0; i < s->http_options.mcp.n; i++) json_put_string(&w, s->http_options.mcp.items[i]);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    answer(x, &body);
}

void route_version(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    (void)s, (void)r;
    json_put_begin(&w, '{');
    json_member_string(&w, "version", rn_version());
    json_put_end(&w, '}');
    answer(x, &body);
}

static void put_spelling(json_writer *w, const char *name, const rn_model *m, int32_t id) {
    char *text = NULL;
    size_t n = 0;
    if (id >= 0 && rn_detokenize(m, &id, 1, true, &text, &n, NULL) == RN_OK)
        json_member_text(w, name, n ? text : "", n);
    else
        json_member_string(w, name, NULL);
    rn_free(text);
}

void route_tokenizer_info(struct server *s, http_exchange *x, const http_request *r) {
    const rn_model *const model = s->models[0].model;
    rn_model_info m = {.struct_size = sizeof m};
    rn_engine_info e = {.struct_size = sizeof e};
    bytes body = {0};
    json_writer w = {.out = &body};
    (void)r;
    json_put_begin(&w, '{');
    if (rn_model_get_info(model, &m, NULL) == RN_OK && rn_engine_get_info(s->engine, 0, &e, NULL) == RN_OK) {
        json_member_string(&w, "tokenizer_class", m.tokenizer);
        json_member_whole(&w, "vocab_size", m.n_vocab);
        json_member_whole(&w, "model_max_length", e.n_ctx);
        json_member_bool(&w, "add_bos_token", m.add_bos);
        put_spelling(&w, "bos_token", model, m.bos);
        put_spelling(&w, "eos_token", model, m.n_end_tokens > 0 ? m.end_tokens[0].id : -1);
        json_member_string(&w, "chat_template", m.chat_template);
    }
    json_put_end(&w, '}');
    answer(x, &body);
}
