// app/model_path.c - finds a model file by path or name, or the default model.
#include "app/model_path.h"
#include "app/models/model_cache.h"
#include "app/models/model_names.h"
#include "app/numbers.h"
#include "app/process.h"
#include "app/say.h"
#include "app/settings.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *non_empty(const char *variable) {
    const char *v = getenv(variable);
    return v && *v ? v : NULL;
}

// A name that can be fetched, in whichever cache has it.
static char *find_fetched(const char *name, const char *typed) {
    model_ref ref;
    char why[NUMBER_WHY], why_not[MODEL_WHY];
    if (!model_ref_parse(name, &ref, why)) {
        say("%s: %s", typed, why);
        return NULL;
    }
    char *const path = model_cache_find(&ref, why_not);
    if (path) return path;
    char *const place = model_cache_place(&ref);
    if (why_not[0])
        say("%s: %s (`runnel pull %s` fetches it)", typed, why_not, typed);
    else
        say("%s: not fetched yet: `runnel pull %s` fetches %s into %s", typed, typed,
            strcmp(name, typed) ? name : "it", place);
    free(place);
    return NULL;
}

// The name of a file in the cache, without .gguf.
static char *find_in_lists(const char *name) {
    cached_models list;
    char why[MODEL_WHY];
    cached_models_read(&list);
    const cached_model *const m = cached_models_find(&list, name, why);
    char *const path = m ? app_copy_text(m->path) : NULL;
    cached_models_free(&list);
    if (path) return path;
    const size_t n = strlen(name), n_end = strlen(".gguf");
    if (why[0])
        say("%s: %s", name, why);
    else if (n >= n_end && strcmp(name + n - n_end, ".gguf") == 0)
        say("%s: no such file", name);
    else
        say("%s: no such file, and no fetched model of that name: `runnel list` shows those that are there, `runnel pull` some that can be had",
            name);
    return NULL;
}

static char *find_named(const char *name) {
    const char *const meant = model_name_meant(name);
    if (model_ref_is(name)) return find_fetched(name, name);
    if (strchr(name, '/') || access(name, F_OK) == 0)
        return app_copy_text(name); // if it cannot be opened, that error is reported then
    char *const folder = model_cache_named_folder(), *const path = app_text("%s/%s.gguf", folder, name);
    free(folder);
    if (access(path, F_OK) == 0) return path;
    free(path);
    if (model_ref_is(meant)) return find_fetched(meant, name);
    return strcmp(meant, name) != 0 && strchr(meant, '/') ? app_copy_text(meant) : find_in_lists(meant);
}

static char *find_default(void) {
    // The installed model, or the source tree's when runnel runs from a build folder. The second path may by
    // chance exist for an installed program, so it is tried last.
    static const char *const beside[] = {"../share/runnel/models/stories.gguf", "../../models/stories.gguf"};
    char *const folder = process_folder(), *found = NULL;
    for (size_t i = 0; folder && !found && i < sizeof beside / sizeof *beside; i++) {
        char *path = app_text("%s/%s", folder, beside[i]);
        if (access(path, R_OK) == 0) found = realpath(path, NULL);
        free(path);
    }
    free(folder);
    if (found) return found;
    say("model: none given, and the program's own is not installed beside it: use -m FILE or set $RUNNEL_MODEL");
    return NULL;
}

char *model_path_find(const char *name) {
    if (!settings_load()) return NULL;
    if (!name) name = non_empty("RUNNEL_MODEL");
    if (!name) name = settings_get()->model;
    return name ? find_named(name) : find_default();
}
