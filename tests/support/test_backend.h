// tests/support/test_backend.h - the backends that tests of models run over: $RUNNEL_TEST_BACKEND names one, the CPU is the default.
#ifndef RN_TESTS_TEST_BACKEND_H
#define RN_TESTS_TEST_BACKEND_H

#include "backend/backend.h"
#include "kernels/kernels.h"

// "cpu", "device" (device_backend.h) or "composite" (composite_backend.h). One that spec names goes before the environment's.
rn_status test_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

// Is it the CPU? Others make no use of spec.kernels and keeps_rows: what differs in these alone need not be tried again over them.
bool test_backend_is_cpu(void);
enum cpu_set test_sets_end(void); // sets of kernels to try: from CPU_REF to before this one

// A sweep takes every n-th of its cases: `plain` in a release build, `sanitized` under sanitizers, each of them with RUNNEL_TEST_FULL=1;
// times $RUNNEL_TEST_STRIDE, by which tests/CMakeLists.txt makes sweeps over other backends shorter.
int test_stride(int plain, int sanitized);

#endif
