// jinja/py_chars.h - characters with the semantics of Python's strings: classes, case, white space. Unicode tables: utf8proc.
//
// Each byte that is not valid UTF-8 counts as one character without a class.
// Threads: pure functions.
#ifndef RN_JINJA_PY_CHARS_H
#define RN_JINJA_PY_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_NO_CHAR   UINT32_MAX // a byte that is none
#define PY_MAX_CASED 3          // characters that one may become

// Decodes the character at s (n >= 1 bytes left). *len: its length in bytes.
uint32_t py_char(const char *s, size_t n, int *len);
size_t py_char_len(const char *s, size_t n);         // at s
size_t py_char_len_before(const char *s, size_t at); // that ends at s + at (at >= 1)
size_t py_count_chars(const char *s, size_t n);
size_t py_byte_of(const char *s, size_t n, size_t i_char); // offset of character i_char; n if there are fewer

enum py_class {
    PY_SPACE, // str.isspace, \s
    PY_ALPHA,
    PY_DECIMAL,
    PY_DIGIT,
    PY_NUMERIC,
    PY_UPPER,
    PY_LOWER,
    PY_TITLE,
    PY_PRINTABLE,
    PY_WORD // \w
};
bool py_is(enum py_class k, uint32_t cp);
int py_decimal(uint32_t cp); // 0..9, or -1

enum py_case { PY_TO_UPPER, PY_TO_LOWER, PY_TO_TITLE, PY_FOLD };
int py_recase(enum py_case k, uint32_t cp,
              uint32_t out[PY_MAX_CASED]); // characters written; the final sigma is the caller's
bool py_is_cased(uint32_t cp);
bool py_is_case_ignorable(uint32_t cp);

#endif
