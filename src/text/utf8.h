// text/utf8.h - UTF-8 as RFC 3629 defines it (no overlong forms, no surrogates, nothing above
// U+10FFFF), and the assembler that turns a stream of token bytes into a stream of whole
// characters.
//
// Threads: one object, one thread at a time.
#ifndef RN_TEXT_UTF8_H
#define RN_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The length 1..4 of the valid character at s[0..n), n >= 1; 0: invalid; -1: the beginning of a
// character that needs more bytes.
int utf8_char_len(const char *s, size_t n);
// The length of the maximal invalid part at s (n >= 1, not a valid character), which becomes one
// U+FFFD (Unicode, chapter 3, "U+FFFD substitution of maximal subparts").
size_t utf8_invalid_len(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);
// Decodes the valid character at s and sets *len to its length.
uint32_t utf8_decode(const char *s, size_t n, int *len);
int utf8_encode(uint32_t code_point, char out[4]);

// Assembles whole characters from pieces of any size. Holds at most 3 bytes: the beginning of a
// character.
typedef struct utf8_assembler {
    uint8_t held[4];
    uint8_t n_held;
    // true: invalid bytes pass unchanged; false: each maximal invalid part becomes U+FFFD.
    bool keep_invalid;
} utf8_assembler; // zero = ready

// The size of out for n more bytes: every byte may become U+FFFD, which has 3 bytes.
#define UTF8_ASSEMBLER_MAX_OUT(n) (3 * ((n) + 3))
// Returns the number of bytes written to out.
size_t utf8_assembler_push(utf8_assembler *a, const char *s, size_t n, char *out);
// Releases the held bytes to out and returns their number; the assembler is then ready again.
size_t utf8_assembler_finish(utf8_assembler *a, char *out);

#endif
