// app/option_name.c - see option_name.h.
#include "app/option_name.h"
#include <stdio.h>

void option_name_dashed(const char *name, char *out, size_t n_out) {
    snprintf(out, n_out, "%s", name);
    for (char *c = out; *c; c++)
        if (*c == '_') *c = '-';
}

bool option_name_is(const char *name, const char *typed) {
    for (; *name; name++, typed++)
        if (*typed != *name && !(*name == '_' && *typed == '-')) return false;
    return *typed == 0;
}
