// base/cursor.h - reads foreign bytes in order; never past the end, never through a misaligned pointer.
//
// After the first failed read the cursor stays failed: every later read fails too, so a parser may check once
// for several reads. Little endian. Ownership: the bytes are the caller's. Threads: one at a time.
#ifndef RN_BASE_CURSOR_H
#define RN_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cursor {
    const uint8_t *data;
    size_t size, pos; // pos <= size always
    bool failed;
} cursor;

static inline size_t cursor_left(const cursor *c) { return c->size - c->pos; }
bool cursor_u8(cursor *c, uint8_t *out);
bool cursor_u32(cursor *c, uint32_t *out);
bool cursor_u64(cursor *c, uint64_t *out);
// *out points at the next n bytes inside the data.
bool cursor_bytes(cursor *c, uint64_t n, const uint8_t **out);
bool cursor_skip(cursor *c, uint64_t n);

#endif
