// base/one_line.c - foreign text made fit for one line on a terminal or in a log.
#include "base/one_line.h"
#include <string.h>

// Well-formed byte sequences by their first byte: The Unicode Standard, table 3-7. The second byte's range keeps out
// overlong forms, surrogates and what lies beyond U+10FFFF, and C1 controls as well (0xC2 0x80..0x9F).
static const struct {
    unsigned char first_lo, first_hi, second_lo, second_hi;
    int n_bytes;
} forms[] = {
    {0x20, 0x7E, 0x00, 0x00, 1}, {0xC2, 0xC2, 0xA0, 0xBF, 2}, {0xC3, 0xDF, 0x80, 0xBF, 2},
    {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
    {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4},
    {0xF4, 0xF4, 0x80, 0x8F, 4},
};

// Bytes of the printable character at s; 0: none. *cut: the text ends inside what could still become one.
static int printable(const unsigned char *s, bool *cut) {
    *cut = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].first_lo || s[0] > forms[i].first_hi) continue;
        for (int k = 1; k < forms[i].n_bytes; k++) {
            const unsigned char lo = k == 1 ? forms[i].second_lo : 0x80, hi = k == 1 ? forms[i].second_hi : 0xBF;
            *cut = s[k] == 0;
            if (s[k] < lo || s[k] > hi) return 0;
        }
        return forms[i].n_bytes;
    }
    return 0;
}

void one_line(char *text, bool was_cut) {
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        bool cut;
        const int n = printable(s, &cut);
        if (n) {
            s += n;
        } else if (cut && was_cut) {
            *s = 0;
        } else {
            *s++ = '?';
        }
    }
}
