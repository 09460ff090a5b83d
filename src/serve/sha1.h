// serve/sha1.h - SHA-1 (FIPS 180-4), for the one place that still asks for it: the handshake of WebSocket (RFC 6455, section 4.2.2).
#ifndef RN_SERVE_SHA1_H
#define RN_SERVE_SHA1_H

#include <stddef.h>
#include <stdint.h>

enum { SHA1_BYTES = 20, SHA1_MAX = 119 };
void sha1(const void *data, size_t n, uint8_t digest[SHA1_BYTES]); // n <= SHA1_MAX: two blocks

#endif
