// formats/vocab/protobuf.c - see protobuf.h.
#include "formats/vocab/protobuf.h"

enum { MAX_VARINT_BYTES = 10, MAX_FIELD = (1 << 29) - 1 };

static rn_status bad(size_t pos, const char *why, rn_error *err) {
    return fail(err, RN_E_FORMAT, "byte %zu: %s", pos, why);
}

// Base 128, least significant group first; the last byte's high bit is clear.
static rn_status read_varint(cursor *c, uint64_t *value, rn_error *err) {
    const size_t begin = c->pos;
    *value = 0;
    for (int i = 0; i < MAX_VARINT_BYTES; i++) {
        uint8_t byte;
        if (!cursor_u8(c, &byte)) return bad(begin, "a number without an end", err);
        if (i == MAX_VARINT_BYTES - 1 && byte > 1) break;
        *value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) return RN_OK;
    }
    return bad(begin, "a number of more than 64 bits", err);
}

static rn_status read_bytes(cursor *c, struct pb_field *f, rn_error *err) {
    const size_t begin = c->pos;
    uint64_t n;
    const rn_status st = read_varint(c, &n, err);
    if (st != RN_OK) return st;
    if (!cursor_bytes(c, n, &f->bytes)) return bad(begin, "a length beyond the end of its message", err);
    f->n = (size_t)n;
    return RN_OK;
}

rn_status pb_next(cursor *c, struct pb_field *f, bool *more, rn_error *err) {
    const size_t begin = c->pos;
    uint64_t tag;
    uint32_t word;
    *more = cursor_left(c) > 0;
    if (!*more) return RN_OK;
    const rn_status st = read_varint(c, &tag, err);
    if (st != RN_OK) return st;
    if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD) return bad(begin, "an invalid field number", err);
    *f = (struct pb_field){.number = (uint32_t)(tag >> 3), .wire = (enum pb_wire)(tag & 7)};
    switch (f->wire) {
    case PB_VARINT: return read_varint(c, &f->value, err);
    case PB_FIXED64: return cursor_u64(c, &f->value) ? RN_OK : bad(begin, "cut short", err);
    case PB_BYTES: return read_bytes(c, f, err);
    case PB_FIXED32:
        if (!cursor_u32(c, &word)) return bad(begin, "cut short", err);
        f->value = word;
        return RN_OK;
    }
    return bad(begin, (tag & 7) < 5 ? "a group, which is not supported" : "an invalid wire type", err);
}

rn_status pb_must_be(const struct pb_field *f, enum pb_wire wire, rn_error *err) {
    if (f->wire == wire) return RN_OK;
    return fail(err, RN_E_FORMAT, "field %u: wire type %d, must be %d", f->number, (int)f->wire, (int)wire);
}
