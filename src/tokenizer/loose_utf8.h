// tokenizer/loose_utf8.h - turns arbitrary bytes into text that the patterns of byte-level BPE can
// be matched against.
//
// As in the reference implementations, overlong forms become the character that they encode,
// surrogates stay three bytes, and each byte that begins no character becomes U+FFFD. A four-byte
// form beyond U+10FFFF, on which they disagree or fail, becomes one U+FFFD.
// Ownership: loose_text_init() / loose_text_free(). Threads: one at a time.
#ifndef RN_TOKENIZER_LOOSE_UTF8_H
#define RN_TOKENIZER_LOOSE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct loose_text {
    const char *bytes; // [n] the bytes to encode
    // [n] valid UTF-8 for the patterns: surrogates are replaced by a private-use character.
    const char *subject;
    size_t n;
    char *owned; // NULL: both point to the caller's text, which was valid
};

// false: out of memory. n is at most SIZE_MAX / 6.
bool loose_text_init(struct loose_text *t, const char *s, size_t n);
void loose_text_free(struct loose_text *t);

#endif
