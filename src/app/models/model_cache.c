// app/models/model_cache.c - finds models in the caches; cached_models.c lists them.
#include "app/models/model_cache.h"
#include "app/files.h"
#include "app/json_read.h"
#include "app/memory.h"
#include "app/models/cache_roots.h"
#include "app/models/model_folder.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *non_empty(const char *variable) {
    const char *v = getenv(variable);
    return v && *v ? v : NULL;
}

// A folder of the user's: a variable's own, else one below a folder that another names, else one below the home folder.
static char *user_folder(const char *own, const char *base, const char *below_base, const char *below_home) {
    const char *const home = non_empty("HOME");
    if (own && non_empty(own)) return app_copy_text(getenv(own));
    if (base && non_empty(base)) return app_text("%s/%s", getenv(base), below_base);
    return app_text("%s/%s", home ? home : "", below_home);
}

char *model_cache_root(void) { return user_folder("RUNNEL_CACHE", "XDG_CACHE_HOME", "runnel", ".cache/runnel"); }

char *model_cache_named_folder(void) {
    if (non_empty("RUNNEL_MODELS")) return app_copy_text(getenv("RUNNEL_MODELS"));
    char *const root = model_cache_root(), *const folder = app_text("%s/models", root);
    free(root);
    return folder;
}

char *cache_root_of_hf(void) {
    if (non_empty("HF_HUB_CACHE")) return app_copy_text(getenv("HF_HUB_CACHE"));
    if (non_empty("HF_HOME")) return app_text("%s/hub", getenv("HF_HOME"));
    return user_folder(NULL, "XDG_CACHE_HOME", "huggingface/hub", ".cache/huggingface/hub");
}
char *cache_root_of_llama(void) {
    return user_folder("LLAMA_CACHE", "XDG_CACHE_HOME", "llama.cpp", ".cache/llama.cpp");
}
char *cache_root_of_ollama(void) { return user_folder("OLLAMA_MODELS", NULL, NULL, ".ollama/models"); }

// A revision may have slashes (refs/pr/1); a folder's name may not.
static char *revision_folder(const char *revision) {
    bytes name = {0};
    for (const char *c = revision; *c; c++) bytes_add(&name, *c == '/' ? "%2F" : c, *c == '/' ? 3 : 1);
    return name.data;
}

char *model_cache_place(const model_ref *ref) {
    char *const root = model_cache_root(), *place = NULL;
    if (ref->source == MODEL_FROM_HF) {
        char *const revision = revision_folder(ref->revision);
        place = app_text("%s/hf/%s/%s/%s", root, ref->owner, ref->name, revision);
        free(revision);
    } else if (ref->source == MODEL_FROM_OLLAMA) {
        place = app_text("%s/ollama/%s/%s/%s", root, ref->owner, ref->name, ref->revision);
    } else {
        const char *const slash = strrchr(ref->file, '/');
        place = app_text("%s/http%s/%s%s%.*s", root, ref->is_plain_http ? "" : "s", ref->owner, slash ? "/" : "",
                         slash ? (int)(slash - ref->file) : 0, ref->file);
    }
    free(root);
    return place;
}

// The model among files of a folder whose names begin with `prefix`, which is no part of their names in the repository.
static char *pick_below(const model_ref *ref, const char *folder, const char *prefix, char *why) {
    enum { N_LEVELS = 4 };
    folder_names all = {0};
    model_choice choice;
    char *path = NULL;
    size_t n = 0;
    folder_names_read(folder, N_LEVELS, false, &all);
    const char **const names = app_alloc(all.n * sizeof *names);
    bool *const chosen = app_alloc(all.n * sizeof *chosen);
    for (size_t i = 0; i < all.n; i++)
        if (strncasecmp(all.names[i], prefix, strlen(prefix)) == 0) names[n++] = all.names[i] + strlen(prefix);
    if (n && model_files_pick(ref, names, n, chosen, &choice, why))
        path = choice.is_folder ? app_copy_text(folder) : app_text("%s/%s%s", folder, prefix, names[choice.first]);
    free(names);
    free(chosen);
    folder_names_free(&all);
    return path;
}

static char *find_own(const model_ref *ref, char *why) {
    char *const place = model_cache_place(ref), *path = NULL;
    if (ref->source == MODEL_FROM_HF) {
        path = pick_below(ref, place, "", why);
    } else {
        const char *const slash = strrchr(ref->file, '/');
        path = app_text("%s/%s", place,
                        ref->source == MODEL_FROM_OLLAMA ? "model.gguf"
                        : slash                          ? slash + 1
                                                         : ref->file);
        if (access(path, R_OK) != 0) {
            free(path);
            path = NULL;
        }
    }
    free(place);
    return path;
}

char *hf_snapshot(const char *repository, const char *revision) {
    bytes commit = {0};
    char *const ref = app_text("%s/refs/%s", repository, revision);
    if (access(ref, R_OK) != 0 || !file_read(ref, MODEL_REF_PART, &commit)) bytes_add_text(&commit, revision);
    while (commit.n && (commit.data[commit.n - 1] == '\n' || commit.data[commit.n - 1] == '\r'))
        commit.data[--commit.n] = '\0';
    char *snapshot =
        commit.n && model_path_is_safe(commit.data) ? app_text("%s/snapshots/%s", repository, commit.data) : NULL;
    if (snapshot && access(snapshot, R_OK) != 0) {
        free(snapshot);
        snapshot = NULL;
    }
    bytes_free(&commit);
    free(ref);
    return snapshot;
}

static char *find_in_hf(const model_ref *ref, char *why) {
    if (ref->source != MODEL_FROM_HF) return NULL;
    char *const root = cache_root_of_hf();
    char *const repository = app_text("%s/models--%s--%s", root, ref->owner, ref->name);
    char *const snapshot = hf_snapshot(repository, ref->revision);
    char *const path = snapshot ? pick_below(ref, snapshot, "", why) : NULL;
    free(snapshot);
    free(repository);
    free(root);
    return path;
}

// llama.cpp keeps ORG/REPO/FILE as ORG_REPO_FILE, and knows one revision.
static char *find_in_llama(const model_ref *ref, char *why) {
    if (ref->source != MODEL_FROM_HF || strcmp(ref->revision, "main") != 0) return NULL;
    char *const root = cache_root_of_llama();
    char *const prefix = app_text("%s_%s_", ref->owner, ref->name);
    char *const path = pick_below(ref, root, prefix, why);
    free(prefix);
    free(root);
    return path;
}

// A manifest's layer with the weights.
static bool take_layer(void *target, size_t i, const char *key, const json_item *value, char *why) {
    json_span type = {0}, digest = {0};
    char *const to = target;
    const json_item *const t = json_item_member(value, "mediaType"), *const d = json_item_member(value, "digest");
    (void)i, (void)key;
    if (!t || !d || !json_item_text(t, &type, why) || !json_item_text(d, &digest, why)) return true;
    if (strcmp(type.data, "application/vnd.ollama.image.model") == 0 && strncmp(digest.data, "sha256:", 7) == 0 &&
        strlen(digest.data) == 71 && strspn(digest.data + 7, "0123456789abcdef") == 64)
        memcpy(to, digest.data + 7, 65);
    return true;
}
static bool take_other(void *user, const char *name, const json_item *value, char *why) {
    (void)user, (void)name, (void)value, (void)why;
    return true;
}

char *ollama_blob(const char *root, const char *manifest) {
    enum { MANIFEST_LIMIT = 1 << 20 };
    static const member rows[] = {{.name = "layers", .kind = MEMBER_EACH, .shape = SHAPE_ARRAY, .each = take_layer}};
    char digest[65] = "", param[JSON_WHY], reason[JSON_WHY];
    const member_group group = {rows, 1, digest};
    bytes text = {0};
    json_doc *doc = NULL;
    char *path = NULL;
    if (access(manifest, R_OK) == 0 && file_read(manifest, MANIFEST_LIMIT, &text) &&
        json_doc_parse(text.data, text.n, &doc, reason) &&
        json_doc_read_open(doc, &group, 1, take_other, NULL, param, reason) && digest[0])
        path = app_text("%s/blobs/sha256-%s", root, digest);
    if (path && access(path, R_OK) != 0) {
        free(path);
        path = NULL;
    }
    json_doc_free(doc);
    bytes_free(&text);
    return path;
}

static char *find_in_ollama(const model_ref *ref, char *why) {
    (void)why;
    if (ref->source != MODEL_FROM_OLLAMA) return NULL;
    char *const root = cache_root_of_ollama();
    char *const manifest =
        app_text("%s/manifests/" OLLAMA_REGISTRY "/%s/%s/%s", root, ref->owner, ref->name, ref->revision);
    char *const path = ollama_blob(root, manifest);
    free(manifest);
    free(root);
    return path;
}

char *model_cache_find(const model_ref *ref, char *why) {
    static char *(*const places[])(const model_ref *, char *) = {find_own, find_in_hf, find_in_llama, find_in_ollama};
    char first_why[MODEL_WHY] = "";
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        why[0] = '\0';
        char *const path = places[i](ref, why);
        if (path) return path;
        if (!first_why[0]) memcpy(first_why, why, MODEL_WHY);
    }
    memcpy(why, first_why, MODEL_WHY);
    return NULL;
}
