// app/models/model_names.c - see model_names.h.
#include "app/models/model_names.h"
#include "app/models/catalogue.h"
#include "app/settings.h"
#include <string.h>

const char *model_name_meant(const char *name) {
    const settings *const s = settings_get();
    const char *alias = NULL;
    for (size_t i = 0; !alias && i < s->n_aliases; i++)
        if (strcmp(s->aliases[i].name, name) == 0) alias = s->aliases[i].value;
    const catalogue_row *const row = catalogue_find(alias ? alias : name);
    return row ? row->reference : alias ? alias : name;
}
