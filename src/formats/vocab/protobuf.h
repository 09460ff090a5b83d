// formats/vocab/protobuf.h - reads the fields of a protobuf message (its wire format), one after the other.
//
// Messages inside messages are fields of bytes: whoever knows one reads it with a cursor of its own, so nothing nests here.
// Groups, which no format in use has, are refused.
// Threads: pure function.
#ifndef RN_FORMATS_VOCAB_PROTOBUF_H
#define RN_FORMATS_VOCAB_PROTOBUF_H

#include "base/cursor.h"
#include "base/status.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
    uint32_t number;
    enum pb_wire wire;
    uint64_t value;       // of the three wire types that are numbers
    const uint8_t *bytes; // PB_BYTES: n of them
    size_t n;
};

// The next field of the message that c holds; *more false: there is none. Errors: RN_E_FORMAT, `byte N: WHY`.
rn_status pb_next(cursor *c, struct pb_field *f, bool *more, rn_error *err);
// Is the field of this wire type? Else RN_E_FORMAT.
rn_status pb_must_be(const struct pb_field *f, enum pb_wire wire, rn_error *err);

#endif
