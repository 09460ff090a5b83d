// formats/vocab/base64.h - decodes base64 (RFC 4648, section 4) strictly: no white space, correct padding.
//
// Threads: pure functions.
#ifndef RN_FORMATS_VOCAB_BASE64_H
#define RN_FORMATS_VOCAB_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE64_MAX_BYTES(n) ((n) / 4 * 3) // of n characters

// out: room for BASE64_MAX_BYTES(n) bytes. False: invalid; *n_out is the offset of the wrong character.
bool base64_decode(const char *s, size_t n, uint8_t *out, size_t *n_out);

#endif
