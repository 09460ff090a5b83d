// app/base64_write.c - see base64_write.h.
#include "app/base64_write.h"

void base64_add(bytes *to, const uint8_t *data, size_t n) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                              (left > 2 ? (uint32_t)data[i + 2] : 0);
        const char four[] = {letters[bits >> 18], letters[bits >> 12 & 63], left > 1 ? letters[bits >> 6 & 63] : '=',
                             left > 2 ? letters[bits & 63] : '='};
        bytes_add(to, four, sizeof four);
    }
}
