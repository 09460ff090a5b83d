// tests/support/test_backend.h - the backends that tests of models run over: $RUNNEL_TEST_BACKEND names one, the CPU is the default.
#ifndef RN_TESTS_TEST_BACKEND_H
#define RN_TESTS_TEST_BACKEND_H

#include "backend/backend.h"

// "cpu", "device" (device_backend.h) or "composite" (composite_backend.h).
rn_status test_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

#endif
