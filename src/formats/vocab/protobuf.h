// formats/vocab/protobuf.h - reads the fields of a protobuf message (wire format) one after the other.
//
// An embedded message is a field of bytes; the caller reads it with another cursor, so there is no recursion here. Groups are
// refused: no format in use has them.
// Threads: pure function.
#ifndef RN_FORMATS_VOCAB_PROTOBUF_H
#define RN_FORMATS_VOCAB_PROTOBUF_H

#include "base/cursor.h"
#include "base/status.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value;       // for the three numeric wire types
    const uint8_t *bytes; // PB_BYTES: n of them
    size_t n;
};

// Reads the next field from c; *more false: the message has ended. Errors: RN_E_FORMAT, `byte N: WHY`.
rn_status pb_next(cursor *c, struct pb_field *f, bool *more, rn_error *err);
// RN_E_FORMAT unless the field has this wire type.
rn_status pb_must_be(const struct pb_field *f, enum pb_wire wire, rn_error *err);

#endif
