// base/cursor.c - reads foreign bytes in order.
#include "base/cursor.h"

bool cursor_bytes(cursor *c, uint64_t n, const uint8_t **out) {
    if (c->failed || n > cursor_left(c)) {
        c->failed = true;
        return false;
    }
    *out = c->data + c->pos;
    c->pos += (size_t)n;
    return true;
}

bool cursor_skip(cursor *c, uint64_t n) {
    const uint8_t *skipped;
    return cursor_bytes(c, n, &skipped);
}

static bool read_le(cursor *c, unsigned n_bytes, uint64_t *out) {
    const uint8_t *p;
    if (!cursor_bytes(c, n_bytes, &p)) return false;
    *out = 0;
    for (unsigned i = 0; i < n_bytes; i++) *out |= (uint64_t)p[i] << (8 * i);
    return true;
}

bool cursor_u8(cursor *c, uint8_t *out) {
    uint64_t x;
    if (!read_le(c, sizeof *out, &x)) return false;
    *out = (uint8_t)x;
    return true;
}
bool cursor_u32(cursor *c, uint32_t *out) {
    uint64_t x;
    if (!read_le(c, sizeof *out, &x)) return false;
    *out = (uint32_t)x;
    return true;
}
bool cursor_u64(cursor *c, uint64_t *out) { return read_le(c, sizeof *out, out); }
