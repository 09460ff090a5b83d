// text/utf8.h - UTF-8 as RFC 3629 defines it (no overlong forms, no surrogates, nothing above U+10FFFF), and the assembler
// that turns a stream of token bytes into a stream of whole characters.
//
// Threads: one object, one thread at a time.
#ifndef RN_TEXT_UTF8_H
#define RN_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Length 1..4 of the valid character at s (n bytes left, n >= 1); 0: invalid here; -1: the start of one that needs more bytes.
int utf8_char_len(const char *s, size_t n);
// Length of the maximal invalid part at s (n >= 1, not a valid character): what becomes one U+FFFD (Unicode, chapter 3,
// "U+FFFD substitution of maximal subparts").
size_t utf8_invalid_len(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);
// Decodes the valid character at s; *len gets its length.
uint32_t utf8_decode(const char *s, size_t n, int *len);
int utf8_encode(uint32_t code_point, char out[4]);

// The assembler holds at most 3 bytes: the beginning of a character that may still be completed.
typedef struct utf8_assembler {
    uint8_t held[4];
    uint8_t n_held;
    bool keep_invalid; // true: invalid bytes pass as they are (raw surface); false: each maximal part becomes U+FFFD
} utf8_assembler;      // zero = ready

// Bytes of out needed for n more bytes: every byte may become U+FFFD, 3 bytes.
#define UTF8_ASSEMBLER_MAX_OUT(n) (3 * ((n) + 3))
size_t utf8_assembler_push(utf8_assembler *a, const char *s, size_t n, char *out); // returns bytes written to out
size_t utf8_assembler_finish(utf8_assembler *a, char *out); // what is held comes out; ready again

#endif
