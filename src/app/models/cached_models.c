// app/models/cached_models.c - lists what the caches have.
#include "app/files.h"
#include "app/memory.h"
#include "app/models/cache_roots.h"
#include "app/models/model_cache.h"
#include "app/models/model_folder.h"
#include "app/numbers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

// Takes the name and the paths.
static void add(cached_models *list, char *name, char *path, const char *where, char **files, size_t n_files) {
    struct stat st;
    list->items = app_realloc(list->items, (list->n + 1) * sizeof *list->items);
    cached_model *const m = &list->items[list->n++];
    *m =
        (cached_model){name, path, where, .n_files = n_files, .is_own = strcmp(where, "runnel") == 0, .files = files};
    for (size_t i = 0; i < n_files; i++)
        if (stat(files[i], &st) == 0) m->n_bytes += (uint64_t)st.st_size;
}

static void add_file(cached_models *list, char *name, char *path, const char *where) {
    char **const files = app_alloc(sizeof *files);
    files[0] = app_copy_text(path);
    add(list, name, path, where, files, 1);
}

// Adds the models in a folder of a repository: each GGUF file, or the folder itself.
static void add_repository(cached_models *list, const model_ref *repository, const char *folder, const char *where) {
    enum { N_LEVELS = 4 };
    folder_names all = {0};
    model_ref ref = *repository;
    model_choice choice, of_quant;
    char why[MODEL_WHY];
    folder_names_read(folder, N_LEVELS, false, &all);
    const char *const *const names = (const char *const *)all.names;
    bool *const chosen = app_alloc(all.n * sizeof *chosen);
    bool has_gguf = false;
    for (size_t i = 0; i <= all.n; i++) {
        const bool is_last = i == all.n; // the folder as a whole
        if (is_last ? has_gguf : !model_path_is_safe(names[i]) || !model_file_is_gguf(names[i])) continue;
        has_gguf = true;
        ref.quant[0] = ref.file[0] = '\0';
        if (!is_last && model_file_quant(names[i], ref.quant) &&
            !(model_files_pick(&ref, names, all.n, chosen, &of_quant, why) && of_quant.first == i))
            ref.quant[0] = '\0';
        if (!is_last && !ref.quant[0]) snprintf(ref.file, sizeof ref.file, "%s", names[i]);
        if (!model_files_pick(&ref, names, all.n, chosen, &choice, why) || choice.is_folder != is_last) continue;
        char **const files = app_alloc(choice.n * sizeof *files);
        bytes name = {0};
        for (size_t k = 0, n = 0; k < all.n && n < choice.n; k++)
            if (chosen[k]) files[n++] = app_text("%s/%s", folder, names[k]);
        model_ref_add(&ref, &name);
        add(list, name.data, is_last ? app_copy_text(folder) : app_text("%s/%s", folder, names[choice.first]), where,
            files, choice.n);
    }
    free(chosen);
    folder_names_free(&all);
}

// Adds the models below `root` whose folders have n_levels parts, each read by take().
static void add_each_folder(cached_models *list, const char *root, int n_levels,
                            void (*take)(cached_models *, const char *root, const char *below)) {
    folder_names all = {0};
    folder_names_read(root, n_levels, true, &all);
    for (size_t i = 0; i < all.n; i++) {
        int n_parts = 1;
        for (const char *c = all.names[i]; *c; c++) n_parts += *c == '/';
        if (n_parts == n_levels) take(list, root, all.names[i]);
    }
    folder_names_free(&all);
}

// ORG/REPO/REVISION
static void take_own_hf(cached_models *list, const char *root, const char *below) {
    const char *const revision = strrchr(below, '/');
    bytes text = {0};
    model_ref ref;
    char why[NUMBER_WHY];
    bytes_add_format(&text, "hf:%.*s@", (int)(revision - below), below);
    for (const char *c = revision + 1; *c; c++) {
        const bool is_slash = strncmp(c, "%2F", 3) == 0;
        bytes_add(&text, is_slash ? "/" : c, 1);
        if (is_slash) c += 2;
    }
    if (model_ref_parse(text.data, &ref, why)) {
        char *const folder = app_text("%s/%s", root, below);
        add_repository(list, &ref, folder, "runnel");
        free(folder);
    }
    bytes_free(&text);
}

// NAMESPACE/NAME/TAG
static void take_own_ollama(cached_models *list, const char *root, const char *below) {
    const char *const tag = strrchr(below, '/');
    char *const text = app_text("ollama:%.*s:%s", (int)(tag - below), below, tag + 1);
    char *const path = app_text("%s/%s/model.gguf", root, below);
    model_ref ref;
    char why[NUMBER_WHY];
    bytes name = {0};
    if (access(path, R_OK) == 0 && model_ref_parse(text, &ref, why)) {
        model_ref_add(&ref, &name);
        add_file(list, name.data, path, "runnel");
    } else {
        free(path);
    }
    free(text);
}

static void take_own_url(cached_models *list, const char *root, const char *scheme) {
    enum { N_LEVELS = 12 };
    char *const folder = app_text("%s/%s", root, scheme);
    folder_names all = {0};
    folder_names_read(folder, N_LEVELS, false, &all);
    for (size_t i = 0; i < all.n; i++)
        if (model_file_is_gguf(all.names[i]))
            add_file(list, app_text("%s://%s", scheme, all.names[i]), app_text("%s/%s", folder, all.names[i]),
                     "runnel");
    folder_names_free(&all);
    free(folder);
}

// models--ORG--REPO
static void take_hf(cached_models *list, const char *root, const char *below) {
    static const char prefix[] = "models--";
    const char *const owner = below + sizeof prefix - 1;
    const char *const dashes = strncmp(below, prefix, sizeof prefix - 1) == 0 ? strstr(owner, "--") : NULL;
    if (!dashes) return;
    char *const repository = app_text("%s/%s", root, below), *const refs = app_text("%s/refs", repository);
    folder_names revisions = {0};
    folder_names_read(refs, 3, false, &revisions);
    for (size_t i = 0; i < revisions.n; i++) {
        char *const text = app_text("hf:%.*s/%s@%s", (int)(dashes - owner), owner, dashes + 2, revisions.names[i]);
        char *const snapshot = hf_snapshot(repository, revisions.names[i]);
        char why[NUMBER_WHY];
        model_ref ref;
        if (snapshot && model_ref_parse(text, &ref, why)) add_repository(list, &ref, snapshot, "Hugging Face");
        free(snapshot);
        free(text);
    }
    folder_names_free(&revisions);
    free(refs);
    free(repository);
}

// NAMESPACE/NAME of the registry's manifests, whose tags are files.
static void take_ollama(cached_models *list, const char *root, const char *below) {
    char *const folder = app_text("%s/manifests/" OLLAMA_REGISTRY "/%s", root, below);
    folder_names tags = {0};
    folder_names_read(folder, 1, false, &tags);
    for (size_t i = 0; i < tags.n; i++) {
        char *const manifest = app_text("%s/%s", folder, tags.names[i]), *const blob = ollama_blob(root, manifest);
        char *const text = app_text("ollama:%s:%s", below, tags.names[i]);
        char why[NUMBER_WHY];
        model_ref ref;
        bytes name = {0};
        if (blob && model_ref_parse(text, &ref, why)) {
            model_ref_add(&ref, &name);
            add_file(list, name.data, blob, "Ollama");
        } else {
            free(blob);
        }
        free(text);
        free(manifest);
    }
    folder_names_free(&tags);
    free(folder);
}

static void add_named(cached_models *list, const char *folder, const char *where) {
    folder_names all = {0};
    folder_names_read(folder, 1, false, &all);
    for (size_t i = 0; i < all.n; i++)
        if (model_file_is_gguf(all.names[i]))
            add_file(list, app_text("%.*s", (int)(strlen(all.names[i]) - strlen(".gguf")), all.names[i]),
                     app_text("%s/%s", folder, all.names[i]), where);
    folder_names_free(&all);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const cached_model *)a)->name, ((const cached_model *)b)->name);
}

void cached_models_read(cached_models *list) {
    char *const root = model_cache_root(), *const named = model_cache_named_folder();
    char *const own_hf = app_text("%s/hf", root), *const own_ollama = app_text("%s/ollama", root);
    char *const hf = cache_root_of_hf(), *const llama = cache_root_of_llama(), *const ollama = cache_root_of_ollama();
    char *const manifests = app_text("%s/manifests/" OLLAMA_REGISTRY, ollama);
    *list = (cached_models){0};
    add_named(list, named, "runnel");
    add_each_folder(list, own_hf, 3, take_own_hf);
    add_each_folder(list, own_ollama, 3, take_own_ollama);
    take_own_url(list, root, "https");
    take_own_url(list, root, "http");
    add_each_folder(list, hf, 1, take_hf);
    add_named(list, llama, "llama.cpp");
    folder_names models = {0};
    folder_names_read(manifests, 2, true, &models);
    for (size_t i = 0; i < models.n; i++)
        if (strchr(models.names[i], '/')) take_ollama(list, ollama, models.names[i]);
    folder_names_free(&models);
    if (list->n) qsort(list->items, list->n, sizeof *list->items, by_name);
    free(manifests), free(ollama), free(llama), free(hf), free(own_ollama), free(own_hf), free(named), free(root);
}

void cached_models_free(cached_models *list) {
    for (size_t i = 0; i < list->n; i++) {
        cached_model *const m = &list->items[i];
        for (size_t k = 0; k < m->n_files; k++) free(m->files[k]);
        free(m->files);
        free(m->path);
        free(m->name);
    }
    free(list->items);
    *list = (cached_models){0};
}

// The last part of the path, without .gguf.
static bool has_short_name(const cached_model *m, const char *name) {
    const char *const slash = strrchr(m->path, '/'), *const base = slash ? slash + 1 : m->path;
    const size_t n = strlen(name), n_base = strlen(base);
    if (strncasecmp(base, name, n) != 0 || strncmp(m->name, "ollama:", 7) == 0) return false;
    return n_base == n || strcasecmp(base + n, ".gguf") == 0;
}

const cached_model *cached_models_find(const cached_models *list, const char *name, char *why) {
    const cached_model *found = NULL;
    size_t n_found = 0, at = 0;
    why[0] = '\0';
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    for (size_t i = 0; i < list->n; i++) {
        if (!has_short_name(&list->items[i], name)) continue;
        found = &list->items[i], n_found++;
        if (at + strlen(found->name) + 32 < MODEL_WHY)
            at += (size_t)snprintf(why + at, MODEL_WHY - at, "%s %s",
                                   n_found == 1 ? "several models are called so:" : "", found->name);
    }
    if (n_found == 1) why[0] = '\0';
    return n_found == 1 ? found : NULL;
}
