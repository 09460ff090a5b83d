// formats/vocab/base64.h - bytes written as text (RFC 4648, section 4), read strictly: no white space, and padding where it belongs.
//
// Threads: pure functions.
#ifndef RN_FORMATS_VOCAB_BASE64_H
#define RN_FORMATS_VOCAB_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE64_MAX_BYTES(n) ((n) / 4 * 3) // of n characters

// out: room for BASE64_MAX_BYTES(n). false: not base64; *n_out then tells at which character.
bool base64_decode(const char *s, size_t n, uint8_t *out, size_t *n_out);

#endif
