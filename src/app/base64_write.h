// app/base64_write.h - bytes as base64 (RFC 4648, section 4: with padding, without line breaks).
//
// Threads: any.
#ifndef RN_APP_BASE64_WRITE_H
#define RN_APP_BASE64_WRITE_H

#include "app/bytes.h"
#include <stdint.h>

void base64_add(bytes *to, const uint8_t *data, size_t n);

#endif
