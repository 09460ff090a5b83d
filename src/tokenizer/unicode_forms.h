// tokenizer/unicode_forms.h - Unicode's normalization forms (UAX #15), and character properties
// that normalizers need.
//
// Linear time, also for long runs of combining marks. Bytes that are not valid UTF-8 pass
// unchanged.
// Threads: pure functions.
#ifndef RN_TOKENIZER_UNICODE_FORMS_H
#define RN_TOKENIZER_UNICODE_FORMS_H

#include "text/text_buf.h"
#include <stdint.h>

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

// Appends s[0..n) in the given form; check out->failed afterwards.
void unicode_normalize(enum unicode_form form, const char *s, size_t n, struct text_buf *out);

// The character that s[0..n) begins with, n > 0, and its bytes; UINT32_MAX: a byte that begins none.
uint32_t unicode_char_at(const char *s, size_t n, size_t *len);
bool unicode_is_space(uint32_t cp); // White_Space
bool unicode_is_mark(uint32_t cp);  // general category M
// A letter, mark, decimal digit, connector or joiner (\w of UTS #18).
bool unicode_is_word(uint32_t cp);
// The lower case of a character: one or two characters.
int unicode_lower(uint32_t cp, uint32_t lower[2]);
// The length in bytes of the first grapheme cluster (UAX #29); s begins with a valid character.
size_t unicode_grapheme_len(const char *s, size_t n);

#endif
