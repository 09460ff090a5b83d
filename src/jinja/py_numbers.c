// jinja/py_numbers.c - see py_numbers.h.
#include "jinja/py_numbers.h"
#include "jinja/py_chars.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 512 }; // more digits practically never change a double

// ---- parsing ------------------------------------------------------------------------------------

static void strip(const char **s, size_t *n) {
    int len;
    while (*n > 0 && py_is(PY_SPACE, py_char(*s, *n, &len))) *s += len, *n -= (size_t)len;
    while (*n > 0) {
        const size_t last = py_char_len_before(*s, *n);
        if (!py_is(PY_SPACE, py_char(*s + *n - last, last, &len))) break;
        *n -= last;
    }
}

static int digit_value(uint32_t cp) {
    if (cp >= 'a' && cp <= 'z') return (int)cp - 'a' + 10;
    if (cp >= 'A' && cp <= 'Z') return (int)cp - 'A' + 10;
    return py_decimal(cp);
}

// Skips a prefix such as 0x if it fits the base; a base of 0 is set by it.
static bool take_prefix(const char **s, size_t *n, int *base) {
    static const struct {
        char letter;
        int base;
    } forms[] = {{'b', 2}, {'o', 8}, {'x', 16}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*n < 2 || (*s)[0] != '0' || ((*s)[1] | 0x20) != forms[i].letter) continue;
        if (*base != 0 && *base != forms[i].base) continue;
        *base = forms[i].base;
        *s += 2, *n -= 2;
        return true;
    }
    return false;
}

enum py_parsed py_parse_int(const char *s, size_t n, int base, tv_int *out) {
    strip(&s, &n);
    const bool minus = n > 0 && *s == '-';
    if (n > 0 && (*s == '-' || *s == '+')) s++, n--;
    bool may_underscore = take_prefix(&s, &n, &base);
    const bool any_base = base == 0;
    if (any_base) base = 10;
    __int128 v = 0;
    bool large = false, ends_well = false, is_zero = true;
    const bool leads_zero = n > 0 && *s == '0';
    for (int len; n > 0; s += len, n -= (size_t)len) {
        const uint32_t cp = py_char(s, n, &len);
        if (cp == '_' && may_underscore) {
            may_underscore = ends_well = false;
            continue;
        }
        const int digit = digit_value(cp);
        if (digit < 0 || digit >= base) return PY_NO_NUMBER;
        large |= v > (TV_INT_MAX - digit) / base;
        if (!large) v = v * base + digit;
        may_underscore = ends_well = true;
        is_zero &= digit == 0;
    }
    if (!ends_well || (any_base && leads_zero && !is_zero)) return PY_NO_NUMBER; // int('012', 0) is refused
    *out = minus ? -v : v;
    return large ? PY_TOO_LARGE : PY_PARSED;
}

static bool is_word(const char *s, size_t n, const char *word) {
    if (n != strlen(word)) return false;
    for (size_t i = 0; i < n; i++)
        if ((s[i] | 0x20) != word[i]) return false;
    return true;
}

static bool parse_named_float(const char *s, size_t n, double *out) {
    const bool minus = n > 0 && *s == '-';
    if (n > 0 && (*s == '-' || *s == '+')) s++, n--;
    if (is_word(s, n, "inf") || is_word(s, n, "infinity")) return *out = minus ? -INFINITY : INFINITY, true;
    return is_word(s, n, "nan") && (*out = NAN, true);
}

// Writes the locale's decimal point, which strtod() and printf() use, to `point`; returns its
// bytes.
static size_t local_point(char point[16]) {
    char half[16];
    const int n = snprintf(half, sizeof half, "%.1f", 0.5) - 2; // "0", the point, "5"
    if (n < 1 || n > 12) return point[0] = '.', 1;
    memcpy(point, half + 1, (size_t)n);
    return (size_t)n;
}

// Checks the form [digits][.digits][e[sign]digits] and copies it for strtod(): ASCII digits, no
// underscores, the locale's decimal point.
static bool copy_float(const char *s, size_t n, char *to) {
    char point[16];
    const size_t n_point = local_point(point);
    bool digits = false, seen_point = false, seen_e = false, after_digit = false;
    for (int len; n > 0; s += len, n -= (size_t)len) {
        const uint32_t cp = py_char(s, n, &len);
        const int digit = py_decimal(cp);
        if (digit >= 0) {
            *to++ = (char)('0' + digit);
            digits = after_digit = true;
        } else if (cp == '_' && after_digit && n > 1 && py_decimal((uint8_t)s[1]) >= 0) {
            after_digit = false;
        } else if (cp == '.' && !seen_point && !seen_e) {
            memcpy(to, point, n_point);
            to += n_point;
            seen_point = true, after_digit = false;
        } else if ((cp == 'e' || cp == 'E') && digits && !seen_e) {
            *to++ = 'e';
            seen_e = true, digits = after_digit = false;
            if (n > 1 && (s[1] == '-' || s[1] == '+')) *to++ = *++s, n--;
        } else {
            return false;
        }
    }
    *to = 0;
    return digits;
}

bool py_parse_float(const char *s, size_t n, double *out) {
    char text[NUMBER_BYTES + 32], *to = text;
    strip(&s, &n);
    if (n == 0 || n > NUMBER_BYTES) return false;
    if (parse_named_float(s, n, out)) return true;
    if (*s == '-' || *s == '+') *to++ = *s++, n--;
    if (!copy_float(s, n, to)) return false;
    *out = strtod(text, NULL);
    return true;
}

// ---- printing -----------------------------------------------------------------------------------

size_t py_print_int(tv_int i, int base, bool upper, char *to) {
    char digits[PY_INT_BYTES];
    size_t n = 0;
    unsigned __int128 rest = i < 0 ? -(unsigned __int128)i : (unsigned __int128)i;
    do digits[n++] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[(unsigned)(rest % (unsigned)base)];
    while ((rest /= (unsigned)base) > 0);
    size_t len = 0;
    if (i < 0) to[len++] = '-';
    while (n > 0) to[len++] = digits[--n];
    to[len] = 0;
    return len;
}

// The shortest decimal digits that round-trip to d (finite, not 0), without trailing zeros;
// *exponent is that of the first digit.
static int shortest_digits(double d, char digits[32], int *exponent) {
    char text[64];
    int n = 0;
    // If 15 or fewer digits suffice, 15 with trailing zeros removed are the shortest; only
    // subnormal numbers may need fewer.
    for (int precision = fabs(d) < DBL_MIN ? 0 : 14; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, d);
        if (strtod(text, NULL) == d) break;
    }
    const char *s = text;
    for (; *s && *s != 'e'; s++)
        if (*s >= '0' && *s <= '9') digits[n++] = *s;
    *exponent = *s ? (int)strtol(s + 1, NULL, 10) : 0;
    while (n > 1 && digits[n - 1] == '0') n--;
    return n;
}

// Like repr(): 1e-05 and 1e+16 have an exponent, numbers in between do not.
size_t py_print_float(double d, char *to) {
    if (isnan(d)) return (size_t)sprintf(to, "nan");
    if (isinf(d)) return (size_t)sprintf(to, d < 0 ? "-inf" : "inf");
    if (d == 0) return (size_t)sprintf(to, signbit(d) ? "-0.0" : "0.0");
    char digits[32], *const begin = to;
    int exponent;
    const int n = shortest_digits(d, digits, &exponent);
    if (d < 0) *to++ = '-';
    if (exponent < -4 || exponent >= 16) {
        *to++ = digits[0];
        if (n > 1) to += sprintf(to, ".%.*s", n - 1, digits + 1);
        to += sprintf(to, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        to += sprintf(to, "0.%.*s%.*s", -exponent - 1, "000", n, digits);
    } else {
        for (int i = 0; i <= exponent; i++) *to++ = i < n ? digits[i] : '0';
        to += sprintf(to, ".%.*s", n > exponent + 1 ? n - exponent - 1 : 1,
                      n > exponent + 1 ? digits + exponent + 1 : "0");
    }
    return (size_t)(to - begin);
}

size_t py_print_fixed(double d, char form, int precision, bool alternate, char *to) {
    const char pattern[] = {
        '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : form, alternate ? form : 0, 0};
    char point[16];
    const size_t n_point = local_point(point);
    const int n = snprintf(to, PY_FIXED_BYTES, pattern, precision, d);
    size_t len = n > 0 ? (size_t)n : 0;
    char *const at = len ? memmem(to, len, point, n_point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + n_point, len - (size_t)(at - to) - n_point + 1);
        len -= n_point - 1;
    }
    return len;
}

double py_round(double d, int digits) {
    char text[PY_FIXED_BYTES];
    double rounded = d;
    if (!isfinite(d) || d == 0 || digits > 323) return d;
    if (digits < -308) return 0.0 * d;
    if (digits >= 0) {
        py_print_fixed(d, 'f', digits, false, text);
        py_parse_float(text, strlen(text) > NUMBER_BYTES ? 0 : strlen(text), &rounded);
        return rounded;
    }
    const double scale = pow(10, -digits);
    return nearbyint(d / scale) * scale;
}
