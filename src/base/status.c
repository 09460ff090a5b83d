// base/status.c - fills rn_error.
#include "base/status.h"
#include "base/one_line.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Formats into text[cap]; what does not fit is cut.
__attribute__((format(printf, 3, 0))) static void format_line(char *text, size_t cap, const char *fmt, va_list ap) {
    const int n = vsnprintf(text, cap, fmt, ap);
    if (n < 0) text[0] = 0;
    one_line(text, n >= 0 && (size_t)n >= cap);
}

rn_status fail(rn_error *err, rn_status code, const char *fmt, ...) {
    if (!err) return code;
    char text[sizeof err->text]; // fmt's arguments may point into err
    va_list ap;
    va_start(ap, fmt);
    format_line(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(err->text, text, sizeof text);
    err->retry_after_s = 0;
    memset(err->reserved, 0, sizeof err->reserved);
    return err->code = code;
}

rn_status fail_in(rn_error *err, rn_status code, const char *fmt, ...) {
    if (!err) return code;
    char text[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    format_line(text, sizeof text, fmt, ap);
    va_end(ap);
    const size_t used = strlen(text);
    const int n = snprintf(text + used, sizeof text - used, ": %s", err->text);
    one_line(text + used, n >= 0 && (size_t)n >= sizeof text - used);
    memcpy(err->text, text, sizeof text);
    if (err->code == RN_OK) err->code = code; // err was not filled: a failure must not look like success
    return err->code;
}

rn_status check_range(const char *name, int64_t value, int64_t min, int64_t max, rn_error *err) {
    if (value >= min && value <= max) return RN_OK;
    return fail(err, RN_E_ARG, "%s: %" PRId64 " is outside %" PRId64 "..%" PRId64, name, value, min, max);
}
