// backend/batch_pack.h - a batch as bytes and back: for backends that evaluate rows in another
// process or on another machine, and for passing rows from one backend to the next.
//
// The format is versioned, little endian and the same on every machine. It includes the rows' input
// vectors. Threads: pure functions of their arguments.
#ifndef RN_BACKEND_BATCH_PACK_H
#define RN_BACKEND_BATCH_PACK_H

#include "backend/backend.h"

// Size of the packed batch. p: the program that the batch is for.
size_t batch_packed_bytes(const struct batch *b, const struct program *p);
// Writes batch_packed_bytes() bytes to out.
void batch_pack(const struct batch *b, const struct program *p, uint8_t *out);

// A batch and all that it points to. Zeroed before the first batch_unpack(); later ones reuse its
// memory.
struct batch_unpacked {
    struct batch batch;
    void *memory;
    size_t room;
};
// The bytes are untrusted. Every count is checked against the program and the sizes it was loaded
// with, and so is every page, slot and row index that a backend would follow (limits:
// docs/limits.md). RN_E_FORMAT: the error names the field, its value and its limit. RN_E_NOMEM. On
// failure u->batch is empty.
rn_status batch_unpack(const uint8_t *bytes, size_t n, const struct program *p, const struct backend_sizes *s,
                       struct batch_unpacked *u, rn_error *err);
void batch_unpacked_free(struct batch_unpacked *u);

#endif
