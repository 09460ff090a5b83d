// serve/ollama/ollama_models.c - what Ollama's interface says of models: /api/version, tags, show and ps; and what it cannot do here.
#include "serve/api/api_request.h"
#include "serve/api/api_time.h"
#include "serve/ollama/ollama.h"
#include "serve/ollama/ollama_request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The release whose interface this is: some clients want at least one.
#define OLLAMA_VERSION "0.13.0"
// Models are never unloaded: the last second that RFC 3339 can write.
#define NEVER "9999-12-31T23:59:59Z"

static void answer(http_exchange *x, bytes *body) { http_answer_json(x, 200, body); }

void route_ollama_version(struct server *s, http_exchange *x, const http_request *r) {
    bytes body = {0};
    json_writer w = {.out = &body};
    (void)s, (void)r;
    json_put_begin(&w, '{');
    json_member_string(&w, "version", OLLAMA_VERSION);
    json_member_string(&w, "runnel", rn_version());
    json_put_end(&w, '}');
    answer(x, &body);
}

// "134.52M", as Ollama writes numbers of parameters.
static void put_parameters(json_writer *w, uint64_t n) {
    static const struct {
        double unit;
        const char *letter;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}, {1, ""}};
    char text[32];
    size_t i = 0;
    while (i < 4 && (double)n < units[i].unit) i++;
    snprintf(text, sizeof text, "%.*f%s", i == 4 ? 0 : 2, (double)n / units[i].unit, units[i].letter);
    json_member_string(w, "parameter_size", text);
}

static void put_details(json_writer *w, const rn_model_info *m) {
    json_member_begin(w, "details", '{');
    json_member_string(w, "parent_model", "");
    json_member_string(w, "format", "gguf");
    json_member_string(w, "family", m->architecture);
    json_member_begin(w, "families", '[');
    json_put_string(w, m->architecture);
    json_put_end(w, ']');
    put_parameters(w, m->n_params);
    json_member_string(w, "quantization_level", m->n_types ? m->types[0].type : "");
    json_put_end(w, '}');
}

static void put_modified(json_writer *w, const server_model *m) {
    struct stat st;
    char text[API_TIME_TEXT];
    if (stat(m->path, &st) == 0) json_member_string(w, "modified_at", api_time_text((int64_t)st.st_mtime, text));
}

static void put_name(json_writer *w, const server_model *m) {
    json_member_string(w, "name", m->name);
    json_member_string(w, "model", m->name);
}

static void put_tag(json_writer *w, const server *s, size_t i) {
    rn_model_info m = {.struct_size = sizeof m};
    json_put_begin(w, '{');
    put_name(w, &s->models[i]);
    put_modified(w, &s->models[i]);
    if (rn_model_get_info(s->models[i].model, &m, NULL) == RN_OK) {
        json_member_u64(w, "size", m.file_bytes);
        put_details(w, &m);
    }
    json_put_end(w, '}');
}

static void put_loaded(json_writer *w, const server *s, size_t i) {
    rn_model_info m = {.struct_size = sizeof m};
    rn_engine_info e = {.struct_size = sizeof e};
    json_put_begin(w, '{');
    put_name(w, &s->models[i]);
    if (rn_model_get_info(s->models[i].model, &m, NULL) == RN_OK) {
        json_member_u64(w, "size", m.file_bytes);
        put_details(w, &m);
    }
    json_member_string(w, "expires_at", NEVER);
    json_member_whole(w, "size_vram", 0);
    if (rn_engine_get_info(s->engine, i, &e, NULL) == RN_OK) json_member_whole(w, "context_length", e.n_ctx);
    json_put_end(w, '}');
}

static void answer_list(const server *s, http_exchange *x, void (*put)(json_writer *w, const server *s, size_t i)) {
    bytes body = {0};
    json_writer w = {.out = &body};
    json_put_begin(&w, '{');
    json_member_begin(&w, "models", '[');
    for (size_t i = 0; i < s->n_models; i++) put(&w, s, i);
    json_put_end(&w, ']');
    json_put_end(&w, '}');
    answer(x, &body);
}

void route_ollama_tags(struct server *s, http_exchange *x, const http_request *r) {
    (void)r;
    answer_list(s, x, put_tag);
}

void route_ollama_ps(struct server *s, http_exchange *x, const http_request *r) {
    (void)r;
    answer_list(s, x, put_loaded);
}

// ---- /api/show ------------------------------------------------------------------------------------------------------

// The server's template, else the model's, which the caller closes (*own); NULL: none. False: out of memory.
static bool find_template(const server *s, size_t i, const rn_template **t, rn_template **own) {
    *own = NULL;
    *t = s->chat.tmpl;
    if (*t) return true;
    const rn_status st = rn_template_of_model(s->models[i].model, own, NULL);
    *t = *own;
    return st != RN_E_NOMEM;
}

static void put_capabilities(json_writer *w, const char *source, bool sees) {
    json_member_begin(w, "capabilities", '[');
    json_put_string(w, "completion");
    if (sees) json_put_string(w, "vision");
    if (strstr(source, "tools")) json_put_string(w, "tools");
    if (strstr(source, "enable_thinking") || strstr(source, "reasoning_content")) json_put_string(w, "thinking");
    json_put_end(w, ']');
}

static void put_model_info(json_writer *w, const rn_model_info *m) {
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"context_length", m->n_ctx_train},    {"embedding_length", m->n_embd},
                {"block_count", m->n_layer},           {"feed_forward_length", m->n_ff},
                {"attention.head_count", m->n_head},   {"attention.head_count_kv", m->n_head_kv},
                {"attention.key_length", m->head_dim}, {"vocab_size", m->n_vocab}};
    char key[128];
    json_member_begin(w, "model_info", '{');
    json_member_string(w, "general.architecture", m->architecture);
    json_member_string(w, "general.basename", m->name);
    json_member_u64(w, "general.parameter_count", m->n_params);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(key, sizeof key, "%s.%s", m->architecture, rows[i].name);
        json_member_whole(w, key, rows[i].value);
    }
    json_put_end(w, '}');
}

// One sampling default a line, as a Modelfile has them.
static void put_defaults(json_writer *w) {
    bytes text = {0};
    rn_field f;
    rn_sampling s;
    rn_sampling_init(&s);
    for (size_t i = 0; i < rn_n_sampling_fields(); i++)
        if (rn_sampling_field(i, &f))
            bytes_add_format(&text, "%s%s %g", i ? "\n" : "", f.name, rn_sampling_get(&s, f.name));
    json_member_bytes(w, "parameters", &text);
    bytes_free(&text);
}

static bool put_shown(json_writer *w, const server *s, size_t i) {
    rn_model_info m = {.struct_size = sizeof m};
    rn_template *own;
    const rn_template *t;
    if (!find_template(s, i, &t, &own)) return false;
    const char *const source = t ? rn_template_source(t) : "";
    json_put_begin(w, '{');
    put_defaults(w);
    json_member_string(w, "template", source);
    put_modified(w, &s->models[i]);
    if (rn_model_get_info(s->models[i].model, &m, NULL) == RN_OK) {
        put_details(w, &m);
        put_model_info(w, &m);
    }
    put_capabilities(w, source, s->models[i].sees);
    json_put_end(w, '}');
    rn_template_close(own);
    return true;
}

typedef struct show_request {
    api_request r;
    const char *old_name;
    bool is_verbose;
} show_request;

void route_ollama_show(struct server *s, http_exchange *x, const http_request *http) {
    static const member rows[] = {
        {"name", MEMBER_NAME, offsetof(show_request, old_name)},
        {"verbose", MEMBER_BOOL, offsetof(show_request, is_verbose)},
    };
    show_request q = {0};
    bytes body = {0};
    const member_group groups[] = {API_COMMON_GROUP(&q.r), {rows, 2, &q}};
    bool ok = api_request_open(&q.r, s, http, http->body, http->n_body) && api_request_read(&q.r, groups, 2, NULL);
    if (ok && !q.r.model_name) q.r.model_name = q.old_name;
    if (ok && !q.r.model_name) ok = api_fail(&q.r.error, API_MISSING_PARAMETER, "model", "model: is missing");
    ok = ok && ollama_find_model(&q.r);
    if (ok && !put_shown(&(json_writer){.out = &body}, s, q.r.model)) {
        q.r.error = api_no_memory;
        ok = false;
    }
    if (ok) {
        char *const ignored = api_request_ignored(&q.r);
        http_answer(x, 200, "application/json", (const char *const[]){ignored, NULL}, body.data, body.n);
        free(ignored);
    } else
        api_answer_error(x, &q.r.error);
    bytes_free(&body);
    api_request_close(&q.r);
}

// ---- what changes models --------------------------------------------------------------------------------------------

void route_ollama_refused(struct server *s, http_exchange *x, const http_request *r) {
    api_error e;
    (void)s;
    api_fail(&e, API_NOT_IMPLEMENTED, NULL,
             "%.20s: not supported: this server has the models that it was started with (runnel serve -m NAME=MODEL)",
             r->path + strlen("/api/"));
    api_answer_error(x, &e);
}
