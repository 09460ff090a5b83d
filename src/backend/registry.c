// backend/registry.c - the backends of this build, by name.
#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include <stdio.h>
#include <string.h>

static const struct backend_kind kinds[] = {{"cpu", BACKEND_ARITHMETIC, cpu_backend_open}};

static rn_status unknown(const struct backend_kind *table, size_t n, const char *name, rn_error *err) {
    char names[256];
    size_t at = 0;
    names[0] = 0;
    for (size_t i = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", table[i].name);
    return fail(err, RN_E_ARG, "backend: %s is not known; this build has %s", name, names);
}

rn_status backend_open_among(const struct backend_kind *table, size_t n, const struct backend_spec *spec,
                             backend **out, rn_error *err) {
    const char *const name = spec->name ? spec->name : "cpu";
    const char *const wanted = spec->arithmetic ? spec->arithmetic : BACKEND_ARITHMETIC;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(table[i].name, name) != 0) continue;
        if (strcmp(table[i].arithmetic, wanted) != 0)
            return fail(err, RN_E_UNSUPPORTED, "arithmetic: backend %s computes %s, %s was requested", name,
                        table[i].arithmetic, wanted);
        return table[i].open(spec, out, err);
    }
    return unknown(table, n, name, err);
}

rn_status backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    return backend_open_among(kinds, sizeof kinds / sizeof *kinds, spec, out, err);
}
