// tests/support/device_backend.h - a backend that behaves like a device: the scalar reference kernels behind memory of their own.
//
// Weights and vectors are copied in when it is loaded; batches reach it packed into bytes; pages are copied in and out; results lie in
// the device until they are fetched, and what the host sees of them before that is NaN. So a caller that leans on anything but the
// contract of backend.h fails.
#ifndef RN_TESTS_DEVICE_BACKEND_H
#define RN_TESTS_DEVICE_BACKEND_H

#include "backend/backend.h"

rn_status device_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);

#endif
