// base/log.c - log messages to the caller's callback.
#include "base/log.h"
#include "base/one_line.h"
#include <stdarg.h>
#include <stdio.h>

void log_to(const log_sink *sink, enum log_level level, const char *fmt, ...) {
    if (!sink || !sink->fn || (int)level > sink->max_level) return;
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    one_line(text, (size_t)n >= sizeof text);
    sink->fn(sink->user, (int)level, text);
}
