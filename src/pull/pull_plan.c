// pull/pull_plan.c - see pull_plan.h.
#include "pull/pull_plan.h"
#include "app/memory.h"
#include "app/models/model_cache.h"
#include <stdlib.h>
#include <string.h>

pull_file *pull_plan_add(pull_plan *plan, char *name, char *url, uint64_t n_bytes) {
    plan->files = app_realloc(plan->files, (plan->n_files + 1) * sizeof *plan->files);
    pull_file *const f = &plan->files[plan->n_files++];
    *f = (pull_file){.name = name, .url = url, .n_bytes = n_bytes};
    return f;
}

void pull_plan_free(pull_plan *plan) {
    for (size_t i = 0; i < plan->n_files; i++) {
        free(plan->files[i].name);
        free(plan->files[i].url);
    }
    free(plan->files);
    free(plan->folder);
    free(plan->open);
    free(plan->endpoint);
    *plan = (pull_plan){0};
}

static void url_plan(const model_ref *ref, pull_plan *plan) {
    const char *const slash = strrchr(ref->file, '/'), *const base = slash ? slash + 1 : ref->file;
    bytes url = {0};
    model_ref_add(ref, &url);
    plan->open = app_text("%s/%s", plan->folder, base);
    pull_plan_add(plan, app_copy_text(base), url.data, NO_SIZE);
}

bool pull_plan_make(const model_ref *ref, const char *name, const http_client *client, pull_plan *plan) {
    *plan = (pull_plan){.folder = model_cache_place(ref)};
    switch (ref->source) {
    case MODEL_FROM_HF: return hub_plan(ref, name, client, plan);
    case MODEL_FROM_OLLAMA: return registry_plan(ref, name, client, plan);
    case MODEL_FROM_URL: url_plan(ref, plan); return true;
    }
    return false;
}
