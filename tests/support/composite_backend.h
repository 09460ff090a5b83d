// tests/support/composite_backend.h - two backends in a row: the first layers on the CPU, the rest on a device (device_backend.h).
//
// A program is cut between two layers. What the second part reads of the first one's row buffers travels as the rows' input vectors, in
// one packed batch. Pages and states are split by layer; as bytes they are the parts' one after the other, which are the whole's.
#ifndef RN_TESTS_COMPOSITE_BACKEND_H
#define RN_TESTS_COMPOSITE_BACKEND_H

#include "backend/backend.h"

rn_status composite_backend_open(const struct backend_spec *spec, backend **out, rn_error *err);
// The first layer of the second part; 0 where the program could not be cut (one layer, or all cuts part a layer from the keys and
// values of another that it reads): then the CPU runs all of it.
int32_t composite_backend_cut(const backend *b);

#endif
