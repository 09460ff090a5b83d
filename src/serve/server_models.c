// serve/server_models.c - opens the models and their engine, and finds models by name.
#include "app/say.h"
#include "serve/api/api_error.h"
#include "serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

int server_open_models(server *s) {
    for (size_t i = 0; i < s->n_models; i++) {
        server_model *const m = &s->models[i];
        const int code = machine_open_file(&s->machine, m->model_name, &m->path, &m->model);
        if (code) return code;
        api_hide_folder_of(m->path);
        if (!m->name) m->name = name_of(m->path);
        if (server_find_model(s, m->name) != (int32_t)i) {
            say("-m %s: two models are called %s: rename one with -m NAME=MODEL", m->path, m->name);
            return EXIT_CODE_USAGE;
        }
    }
    return EXIT_CODE_OK;
}

int server_open_engine(server *s) {
    rn_model *models[SERVER_MODELS];
    rn_engine_options opt;
    rn_error err = {0};
    machine_engine_options(&s->machine, &opt);
    opt.n_streams = s->n_streams;
    opt.n_queue = s->n_queue;
    opt.n_queue_tokens = s->n_queue_tokens;
    opt.queue_wait_ms = s->queue_wait_s * 1000;
    opt.target_itl_ms = s->target_itl_ms;
    opt.memory_limit = (uint64_t)s->memory_mib << 20;
    opt.reserved_bytes = s->reserved_bytes;
    for (size_t i = 0; i < s->n_models; i++) models[i] = s->models[i].model;
    const rn_status st = rn_engine_open(models, s->n_models, &opt, &s->engine, &err);
    progress_hide(&s->machine.bar);
    return st == RN_OK ? EXIT_CODE_OK : machine_failed(&err);
}

int32_t server_find_model(const server *s, const char *name) {
    if (!name || !*name) return 0;
    for (size_t i = 0; i < s->n_models; i++)
        if (s->models[i].name && strcmp(s->models[i].name, name) == 0) return (int32_t)i;
    return -1;
}

void server_close(server *s) {
    if (s->engine) rn_engine_close(s->engine);
    for (size_t i = 0; i < s->n_models; i++) {
        rn_model_close(s->models[i].model);
        free(s->models[i].name);
        free(s->models[i].path);
    }
    machine_close(&s->machine);
}
