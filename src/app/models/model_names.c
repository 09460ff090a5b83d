// app/models/model_names.c - see model_names.h.
#include "app/models/model_names.h"
#include "app/models/catalogue.h"

const char *model_name_meant(const char *name) {
    const catalogue_row *const row = catalogue_find(name);
    return row ? row->reference : name;
}
