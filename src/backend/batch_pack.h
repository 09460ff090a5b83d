// backend/batch_pack.h - a batch as bytes and back: for backends whose rows are evaluated in another process or machine (ranks), and for
// handing rows from one backend to the next.
//
// The form is versioned, little endian and the same on every machine. Input vectors travel with their rows. Threads: pure functions on
// their arguments.
#ifndef RN_BACKEND_BATCH_PACK_H
#define RN_BACKEND_BATCH_PACK_H

#include "backend/backend.h"

size_t batch_packed_bytes(const struct batch *b, const struct program *p);
// out: batch_packed_bytes() bytes.
void batch_pack(const struct batch *b, const struct program *p, uint8_t *out);

// A batch with everything that it points to, in memory that later batches take over. Zeroed before the first one.
struct batch_unpacked {
    struct batch batch;
    void *memory;
    size_t room;
};
// The bytes are untrusted: every count is held against the program and the sizes it was loaded with, and every page, slot and row that
// a backend would follow is inside of them and there. RN_E_FORMAT: what is wrong, and where. RN_E_NOMEM. On failure u->batch is empty.
rn_status batch_unpack(const uint8_t *bytes, size_t n, const struct program *p, const struct backend_sizes *s,
                       struct batch_unpacked *u, rn_error *err);
void batch_unpacked_free(struct batch_unpacked *u);

#endif
