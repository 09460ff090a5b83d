// tests/support/work.c - counters that the compiler and the linker put into code, instead of clocks around it.
#include "tests/support/work.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <utf8proc.h>

static _Thread_local uint64_t n_units;

uint64_t work_done(void) { return n_units; }

void __sanitizer_cov_trace_pc(void); // the compiler calls it
void __sanitizer_cov_trace_pc(void) { n_units++; }

// What libraries do is counted by what they are given. The linker redirects calls of F to __wrap_F (--wrap=F).
#define BYTES_OF_UNIT 16
static void count_bytes(size_t n) { n_units += n / BYTES_OF_UNIT; }

#define WRAPPED(type, name, params)                                                                                  \
    type __real_##name params;                                                                                       \
    type __wrap_##name params;                                                                                       \
    type __wrap_##name params

WRAPPED(void *, memcpy, (void *to, const void *from, size_t n)) {
    count_bytes(n);
    return __real_memcpy(to, from, n);
}

WRAPPED(void *, memmove, (void *to, const void *from, size_t n)) {
    count_bytes(n);
    return __real_memmove(to, from, n);
}

WRAPPED(void *, memset, (void *to, int byte, size_t n)) {
    count_bytes(n);
    return __real_memset(to, byte, n);
}

WRAPPED(int, memcmp, (const void *a, const void *b, size_t n)) {
    count_bytes(n);
    return __real_memcmp(a, b, n);
}

WRAPPED(void *, memchr, (const void *in, int byte, size_t n)) {
    void *const at = __real_memchr(in, byte, n);
    count_bytes(at ? (size_t)((const char *)at - (const char *)in) : n);
    return at;
}

WRAPPED(void *, memmem, (const void *in, size_t n, const void *what, size_t n_what)) {
    const char *const at = __real_memmem(in, n, what, n_what);
    count_bytes(n_what + (at ? (size_t)(at - (const char *)in) : n));
    return (void *)at;
}

WRAPPED(size_t, strlen, (const char *s)) {
    const size_t n = __real_strlen(s);
    count_bytes(n);
    return n;
}

WRAPPED(int, vsnprintf, (char *to, size_t n, const char *format, va_list args)) {
    const int written = __real_vsnprintf(to, n, format, args);
    if (written > 0) n_units += (uint64_t)written;
    return written;
}

int __wrap_snprintf(char *to, size_t n, const char *format, ...);
int __wrap_snprintf(char *to, size_t n, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int written = __wrap_vsnprintf(to, n, format, args);
    va_end(args);
    return written;
}

WRAPPED(size_t, strftime, (char *to, size_t n, const char *format, const struct tm *time)) {
    const size_t written = __real_strftime(to, n, format, time);
    n_units += __real_strlen(format) + written;
    return written;
}

static _Thread_local size_t item_at; // where in its subject the last item was tried

// An item that repeats goes over many characters at once: the next one is tried behind them.
static int count_item(pcre2_callout_block *item, void *unused) {
    const size_t at = item->current_position;
    (void)unused;
    n_units += 1 + (at > item_at ? at - item_at : item_at - at);
    item_at = at;
    return 0;
}

WRAPPED(pcre2_code *, pcre2_compile_8,
        (PCRE2_SPTR pattern, PCRE2_SIZE n, uint32_t options, int *error, PCRE2_SIZE *at, pcre2_compile_context *c)) {
    return __real_pcre2_compile_8(pattern, n, options | PCRE2_AUTO_CALLOUT, error, at, c);
}

WRAPPED(int, pcre2_match_8,
        (const pcre2_code *code, PCRE2_SPTR subject, PCRE2_SIZE n, PCRE2_SIZE from, uint32_t options,
         pcre2_match_data *found, pcre2_match_context *c)) {
    item_at = from;
    if (c) pcre2_set_callout(c, count_item, NULL);
    return __real_pcre2_match_8(code, subject, n, from, options, found, c);
}

WRAPPED(utf8proc_ssize_t, utf8proc_normalize_utf32,
        (utf8proc_int32_t * cps, utf8proc_ssize_t n, utf8proc_option_t options)) {
    n_units += n > 0 ? (uint64_t)n : 0;
    return __real_utf8proc_normalize_utf32(cps, n, options);
}
