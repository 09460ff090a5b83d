// jinja/py_numbers.h - parses and prints numbers as Python does, independent of the locale.
//
// Threads: pure functions.
#ifndef RN_JINJA_PY_NUMBERS_H
#define RN_JINJA_PY_NUMBERS_H

#include "jinja/template_types.h"

enum {
    PY_INT_BYTES = 136,
    PY_FLOAT_BYTES = 40,
    PY_MAX_PRECISION = 1000,
    PY_FIXED_BYTES = 310 + PY_MAX_PRECISION + 16
};

enum py_parsed { PY_PARSED, PY_NO_NUMBER, PY_TOO_LARGE };
// int(text, base): allows white space around, a sign, underscores between digits, and a prefix if base is 0 or the prefix's own base.
// base: 0, 2..36.
enum py_parsed py_parse_int(const char *s, size_t n, int base, tv_int *out);
bool py_parse_float(const char *s, size_t n, double *out); // float(text)

// Digits of i in `base` (2, 8, 10, 16), with a minus; to[PY_INT_BYTES]. Returns the length.
size_t py_print_int(tv_int i, int base, bool upper, char *to);
size_t py_print_float(double d, char *to); // repr(d); to[PY_FLOAT_BYTES]
// d with `precision` (to PY_MAX_PRECISION) in form 'e', 'f' or 'g', as printf does it, with a point; to[PY_FIXED_BYTES].
size_t py_print_fixed(double d, char form, int precision, bool alternate, char *to);
double py_round(double d, int digits); // round(d, digits): of the exact decimal value, halves to even

#endif
