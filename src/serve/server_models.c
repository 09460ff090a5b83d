// serve/server_models.c - opens the models and their engine, and finds models by name.
#include "app/say.h"
#include "app/sent_pictures.h"
#include "serve/api/api_error.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Of one request's pictures while they are decoded, for each pixel: as RGB, and what the decoder takes.
enum { PICTURE_PIXEL_BYTES = 3 + 4 };

// Default name of a model: its file or folder name without .gguf. The caller frees it.
static char *name_of(const char *path) {
    char *const copy = app_copy_text(path);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/';) copy[--n] = '\0';
    const char *const slash = strrchr(copy, '/');
    char *const name = app_copy_text(slash ? slash + 1 : copy), *const dot = strrchr(name, '.');
    if (dot && dot != name && strcasecmp(dot, ".gguf") == 0) *dot = '\0';
    free(copy);
    return name;
}

static bool is_name(const char *name) {
    size_t n = 0;
    for (; name[n]; n++)
        if ((unsigned char)name[n] <= ' ' || name[n] == 0x7f) return false;
    return n > 0 && n <= SERVER_NAME;
}

// given: NAME or NAME=MODEL.
static bool open_alias(server *s, server_alias *a, const char **why) {
    const char *const equals = strchr(a->given, '=');
    const int32_t model = !equals ? 0 : equals[1] ? server_find_model(s, equals + 1) : -1;
    char *const name = app_text("%.*s", (int)(equals ? (size_t)(equals - a->given) : strlen(a->given)), a->given);
    if (!is_name(name))
        *why = "the name must have 1 to 256 bytes without spaces and control characters";
    else if (model < 0)
        *why = "no model has the name after `=`";
    else if (server_find_model(s, name) >= 0)
        *why = "another model has this name";
    else {
        a->model = (size_t)model;
        a->name = name;
        return true;
    }
    free(name);
    return false;
}

static int open_aliases(server *s) {
    const char *why;
    for (size_t i = 0; i < s->n_aliases; i++)
        if (!open_alias(s, &s->aliases[i], &why)) {
            say("--alias %s: %s", s->aliases[i].given, why);
            return EXIT_CODE_USAGE;
        }
    return EXIT_CODE_OK;
}

// A model's own vision part, where it has one of a family that is supported; else the model is one of texts. has_one: it has been given one.
static int add_vision(const server *s, server_model *m, bool has_one) {
    rn_error err = {0};
    rn_model_info info = {.struct_size = sizeof info};
    m->sees = has_one;
    if (s->no_vision || has_one) return EXIT_CODE_OK;
    const rn_status st = rn_model_add_vision(m->model, NULL, &err);
    m->sees = st == RN_OK;
    if (st == RN_OK) return EXIT_CODE_OK;
    if (st == RN_E_NOMEM) return machine_failed(&err);
    if (rn_model_get_info(m->model, &info, NULL) == RN_OK && info.left_out && strstr(info.left_out, "vision"))
        say("pictures: %s", err.text);
    return EXIT_CODE_OK;
}

int server_open_models(server *s) {
    for (size_t i = 0; i < s->n_models; i++) {
        server_model *const m = &s->models[i];
        const int code = machine_open_file(&s->machine, m->model_name, &m->path, &m->model);
        if (code || (i == 0 && machine_add_parts(&s->machine, m->model))) return code ? code : EXIT_CODE_FAILED;
        const int seen = add_vision(s, m, i == 0 && s->machine.mmproj);
        if (seen != EXIT_CODE_OK) return seen;
        api_hide_folder_of(m->path);
        if (!m->name) m->name = name_of(m->path);
        if (server_find_model(s, m->name) != (int32_t)i) {
            say("-m %s: two models are called %s: rename one with -m NAME=MODEL", m->path, m->name);
            return EXIT_CODE_USAGE;
        }
    }
    const int code = open_aliases(s);
    const char *name;
    for (size_t i = 0; code == EXIT_CODE_OK && (name = server_adapter_name(s, i)); i++)
        if (!is_name(name) || server_find_model(s, name) >= 0) {
            say("--lora %s: its name, '%s', is a model's or no name for requests: rename the file",
                s->machine.adapters[i].path, name);
            return EXIT_CODE_USAGE;
        }
    return code;
}

int server_open_engine(server *s) {
    rn_model *models[SERVER_MODELS + MACHINE_HELPERS];
    rn_engine_options opt;
    rn_error err = {0};
    size_t n = s->n_models;
    const int code = machine_open_helpers(&s->machine);
    if (code != EXIT_CODE_OK) return code;
    machine_engine_options(&s->machine, &opt);
    opt.n_streams = s->n_streams;
    opt.n_queue = s->n_queue;
    opt.n_queue_tokens = s->n_queue_tokens;
    opt.n_seqs = s->n_beams - 1;
    opt.queue_wait_ms = s->queue_wait_s * 1000;
    opt.no_speculate = s->no_speculate;
    opt.target_itl_ms = s->target_itl_ms;
    opt.memory_limit = (uint64_t)s->memory_mib << 20;
    opt.reserved_bytes = s->reserved_bytes;
    bool sees = false;
    for (size_t i = 0; i < s->n_models; i++) models[i] = s->models[i].model, sees |= s->models[i].sees;
    if (sees) opt.reserved_bytes += (uint64_t)PICTURE_PIXEL_BYTES * SENT_PICTURE_PIXELS;
    n = machine_add_helpers(&s->machine, models, n, &opt);
    const rn_status st = rn_engine_open(models, n, &opt, &s->engine, &err);
    for (size_t i = 0; i < s->n_models; i++) {
        rn_template *own = NULL;
        s->models[i].can_chat = s->chat.tmpl || rn_template_of_model(s->models[i].model, &own, NULL) == RN_OK;
        rn_template_close(own);
    }
    progress_hide(&s->machine.bar);
    return st == RN_OK ? machine_set_adapters(&s->machine, s->engine) : machine_failed(&err);
}

const char *server_adapter_name(const server *s, size_t i) {
    rn_adapter_info a = {.struct_size = sizeof a};
    return rn_model_get_adapter(s->models[0].model, i, &a, NULL) == RN_OK ? a.name : NULL;
}

int32_t server_find(const server *s, const char *name, int32_t *adapter) {
    const int32_t model = server_find_model(s, name);
    const char *own;
    *adapter = -1;
    for (size_t i = 0; model < 0 && (own = server_adapter_name(s, i)); i++)
        if (strcmp(own, name) == 0) return *adapter = (int32_t)i, 0;
    return model;
}

int32_t server_find_model(const server *s, const char *name) {
    if (!name || !*name) return 0;
    for (size_t i = 0; i < s->n_models; i++)
        if (s->models[i].name && strcmp(s->models[i].name, name) == 0) return (int32_t)i;
    for (size_t i = 0; i < s->n_aliases; i++)
        if (s->aliases[i].name && strcmp(s->aliases[i].name, name) == 0) return (int32_t)s->aliases[i].model;
    return -1;
}

char *server_cannot_chat(const server *s, size_t model) {
    return app_text("model %s cannot chat, since it has no chat template (--chat-template gives it one): "
                    "`./dev model smollm2-135m` fetches a model that can, `runnel serve -m smollm2-135m` serves it",
                    s->models[model].name);
}

void server_close(server *s) {
    if (s->engine) rn_engine_close(s->engine);
    for (size_t i = 0; i < s->n_models; i++) {
        rn_model_close(s->models[i].model);
        free(s->models[i].name);
        free(s->models[i].path);
    }
    for (size_t i = 0; i < s->n_aliases; i++) free(s->aliases[i].name);
    machine_close(&s->machine);
}
