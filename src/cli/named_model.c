// cli/named_model.c - see named_model.h.
#include "cli/named_model.h"
#include "app/models/model_names.h"
#include "app/say.h"
#include "app/settings.h"
#include <stdlib.h>
#include <string.h>

bool named_model_is_given(const option_spec *spec, const options *parsed) {
    if (parsed->n_positional) return true;
    say("MODEL: none given (`runnel list` shows them; runnel %s --help shows the usage)", spec->command);
    return false;
}

const cached_model *named_model_find(cached_models *all, const char *name) {
    char why[MODEL_WHY] = "";
    model_ref ref;
    *all = (cached_models){0};
    if (!settings_load()) return NULL;
    const char *const meant = model_name_meant(name);
    cached_models_read(all);
    const cached_model *found = cached_models_find(all, name, why);
    if (!found && model_ref_is(meant) && model_ref_parse(meant, &ref, why)) {
        char *const path = model_cache_find(&ref, why);
        for (size_t i = 0; path && !found && i < all->n; i++)
            if (strcmp(all->items[i].path, path) == 0) found = &all->items[i];
        free(path);
    }
    if (!found)
        say("%s: %s", name, why[0] ? why : "no fetched model of that name: `runnel list` shows those that are there");
    return found;
}
