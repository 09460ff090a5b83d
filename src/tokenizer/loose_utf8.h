// tokenizer/loose_utf8.h - makes any bytes into a text that byte-level BPE can be matched on.
//
// As the references do it: overlong forms count as the character they spell, surrogates stay as three bytes, and each
// byte that begins nothing becomes U+FFFD. A four-byte form beyond U+10FFFF, on which they disagree or fail, becomes one
// U+FFFD.
// Ownership: loose_text_free() releases. Threads: one at a time.
#ifndef RN_TOKENIZER_LOOSE_UTF8_H
#define RN_TOKENIZER_LOOSE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct loose_text {
    const char *bytes;   // [n] what is written as tokens
    const char *subject; // [n] valid UTF-8 for the patterns: a surrogate stands there as a private-use character
    size_t n;
    char *owned; // NULL: both are the caller's text, which was valid
};

// false: out of memory. n is at most SIZE_MAX / 6.
bool loose_text_init(struct loose_text *t, const char *s, size_t n);
void loose_text_free(struct loose_text *t);

#endif
