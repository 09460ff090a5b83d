// cli/cmd_rm.c - `runnel rm`: deletes a model from runnel's own cache.
#include "app/models/model_record.h"
#include "app/options.h"
#include "app/wrap.h"
#include "cli/command.h"
#include "cli/named_model.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Removes the folders above a path that are empty, up to the cache's own.
static void remove_empty_folders(const char *path, const char *root) {
    char *const folder = app_copy_text(path);
    for (char *slash = strrchr(folder, '/'); slash && (size_t)(slash - folder) > strlen(root);
         slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (rmdir(folder) != 0) break;
    }
    free(folder);
}

static int remove_model(const char *name) {
    cached_models all;
    char size[HUMAN_BYTES];
    const cached_model *const m = named_model_find(&all, name);
    char *const root = model_cache_root();
    bool ok = m != NULL;
    if (m && !m->is_own) {
        say("%s: is in the cache of %s, which runnel only reads: %s", name, m->where, m->path);
        ok = false;
    }
    for (size_t i = 0; ok && i < m->n_files; i++) {
        char *const record = model_record_path(m, i);
        if (record && unlink(record) == 0) remove_empty_folders(record, root);
        free(record);
        if (unlink(m->files[i]) != 0 && errno != ENOENT) {
            say("%s: %s", m->files[i], strerror(errno));
            ok = false;
        }
        remove_empty_folders(m->files[i], root);
    }
    if (ok) say("removed %s: %s", m->name, human_size(m->n_bytes, size));
    free(root);
    cached_models_free(&all);
    return ok ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

int cmd_rm(int n_args, char **args) {
    options parsed;
    const option_spec spec = {
        .command = "rm",
        .usage = "MODEL",
        .about = "Delete a fetched model from runnel's cache. Other programs' caches are left as they are.",
        .max_positional = 1,
    };
    int code;
    if (options_parse(&spec, n_args, args, &parsed, &code))
        code = named_model_is_given(&spec, &parsed) ? remove_model(parsed.positional[0]) : EXIT_CODE_USAGE;
    options_free(&parsed);
    return code;
}
