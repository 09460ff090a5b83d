// app/model_path.c - finds a model file by path or name, or the default model.
#include "app/model_path.h"
#include "app/process.h"
#include "app/say.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *non_empty(const char *variable) {
    const char *v = getenv(variable);
    return v && *v ? v : NULL;
}

static char *models_dir(void) {
    const char *dir = non_empty("RUNNEL_MODELS"), *cache = non_empty("XDG_CACHE_HOME"), *home = non_empty("HOME");
    if (dir) return app_copy_text(dir);
    if (cache) return app_text("%s/runnel/models", cache);
    return app_text("%s/.cache/runnel/models", home ? home : "");
}

static char *find_named(const char *name) {
    if (strchr(name, '/') || access(name, F_OK) == 0)
        return app_copy_text(name); // if it cannot be opened, that error is reported then
    char *dir = models_dir(), *path = app_text("%s/%s.gguf", dir, name);
    if (access(path, F_OK) != 0) {
        const size_t n = strlen(name), n_end = strlen(".gguf");
        if (n >= n_end && strcmp(name + n - n_end, ".gguf") == 0)
            say("%s: no such file", name);
        else
            say("%s: no such file, and no fetched model of that name: %s (`./dev model %s` fetches it, if it knows the name)",
                name, path, name);
        free(path);
        path = NULL;
    }
    free(dir);
    return path;
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
    if (!name) name = non_empty("RUNNEL_MODEL");
    return name ? find_named(name) : find_default();
}
