// tests/support/test_backend.c - see test_backend.h.
#include "tests/support/test_backend.h"
#include "backend/cpu/cpu_backend.h"
#include "tests/support/composite_backend.h"
#include "tests/support/device_backend.h"
#include <stdlib.h>
#include <string.h>

rn_status test_backend_open(const struct backend_spec *spec, backend **out, rn_error *err) {
    static const struct backend_kind kinds[] = {{"cpu", BACKEND_ARITHMETIC, cpu_backend_open},
                                                {"device", BACKEND_ARITHMETIC, device_backend_open},
                                                {"composite", BACKEND_ARITHMETIC, composite_backend_open}};
    struct backend_spec named = *spec;
    if (!named.name) named.name = getenv("RUNNEL_TEST_BACKEND");
    return backend_open_among(kinds, sizeof kinds / sizeof *kinds, &named, out, err);
}

bool test_backend_is_cpu(void) {
    const char *const name = getenv("RUNNEL_TEST_BACKEND");
    return !name || strcmp(name, "cpu") == 0;
}

enum cpu_set test_sets_end(void) { return test_backend_is_cpu() ? CPU_N_SETS : CPU_REF + 1; }

int test_stride(int plain, int sanitized) {
    const char *const more = getenv("RUNNEL_TEST_STRIDE");
#ifdef TESTS_SANITIZED
    const int usual = sanitized;
    (void)plain;
#else
    const int usual = plain;
    (void)sanitized;
#endif
    return (getenv("RUNNEL_TEST_FULL") ? 1 : usual) * (more ? atoi(more) : 1);
}
