// serve/sha1.c - see sha1.h.
#include "serve/sha1.h"
#include <assert.h>
#include <string.h>

enum { BLOCK = 64 };

static uint32_t rotate(uint32_t v, int n) { return v << n | v >> (32 - n); }

// FIPS 180-4, section 6.1.2.
static void add_block(uint32_t h[5], const uint8_t *block) {
    static const uint32_t k[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    for (int t = 16; t < 80; t++) w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    for (int t = 0; t < 80; t++) {
        const uint32_t f = t < 20 ? (b & c) ^ (~b & d) : t < 40 || t >= 60 ? b ^ c ^ d : (b & c) ^ (b & d) ^ (c & d);
        const uint32_t next = rotate(a, 5) + f + e + k[t / 20] + w[t];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

void sha1(const void *data, size_t n, uint8_t digest[SHA1_BYTES]) {
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint8_t padded[2 * BLOCK] = {0};
    assert(n <= SHA1_MAX);
    const size_t n_padded = n + 9 <= BLOCK ? BLOCK : 2 * BLOCK; // a bit of 1, and the length in bits
    memcpy(padded, data, n);
    padded[n] = 0x80;
    padded[n_padded - 2] = (uint8_t)(n * 8 >> 8);
    padded[n_padded - 1] = (uint8_t)(n * 8);
    for (size_t at = 0; at < n_padded; at += BLOCK) add_block(h, padded + at);
    for (int i = 0; i < SHA1_BYTES; i++) digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
