// tests/support/test_backend.c - see test_backend.h.
#include "tests/support/test_backend.h"
#include "backend/cpu/cpu_backend.h"
#include "tests/support/composite_backend.h"
#include "tests/support/device_backend.h"
#include <stdlib.h>

rn_status test_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    static const struct backend_kind kinds[] = {{"cpu", BACKEND_ARITHMETIC, cpu_backend_open},
                                                {"device", BACKEND_ARITHMETIC, device_backend_open},
                                                {"composite", BACKEND_ARITHMETIC, composite_backend_open}};
    struct backend_spec named = *spec;
    named.name = getenv("RUNNEL_TEST_BACKEND");
    return backend_open_among(kinds, sizeof kinds / sizeof *kinds, &named, out, err);
}
