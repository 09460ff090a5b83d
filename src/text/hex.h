// text/hex.h - hexadecimal digits in either case.
#ifndef RN_TEXT_HEX_H
#define RN_TEXT_HEX_H

#include <stdbool.h>
#include <stdint.h>

// The number that digits[0..n) spell, n at most 8. false: one of them is no digit.
static inline bool hex_read(const char *digits, int n, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < n; i++) {
        const char c = digits[i], small = (char)(c | 0x20);
        const int d = c >= '0' && c <= '9' ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
        if (d < 0) return false;
        *out = *out << 4 | (uint32_t)d;
    }
    return true;
}

#endif
