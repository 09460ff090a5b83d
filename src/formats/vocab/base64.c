// formats/vocab/base64.c - see base64.h.
#include "formats/vocab/base64.h"

static int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(const char *s, size_t n, uint8_t *out, size_t *n_out) {
    size_t n_bytes = 0;
    const size_t n_padding = n > 1 && s[n - 1] == '=' ? 1u + (s[n - 2] == '=') : 0;
    uint32_t bits = 0;
    *n_out = n;
    if (n % 4 != 0) return false;
    for (size_t i = 0; i < n; i++) {
        const int value = i < n - n_padding ? value_of(s[i]) : 0;
        if (value < 0) return *n_out = i, false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 3) continue;
        for (int shift = 16; shift >= 0; shift -= 8) out[n_bytes++] = (uint8_t)(bits >> shift);
        bits = 0;
    }
    if (n_padding > 0 && out[n_bytes - 1] | (n_padding > 1 ? out[n_bytes - 2] : 0))
        return *n_out = n - n_padding, false;
    *n_out = n_bytes - n_padding;
    return true;
}
