// app/say.c - writes error messages, each with one write.
#include "app/say.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(const char *fmt, ...) {
    char line[4096] = "runnel: "; // the log-line limit of docs/limits.md
    const size_t n_front = strlen(line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + n_front, sizeof line - n_front - 1, fmt, args);
    va_end(args);
    for (unsigned char *c = (unsigned char *)line; *c; c++) {
        if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f) *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) c[0] = c[1] = '?'; // U+0080..U+009F: C1 control characters
    }
    strcat(line, "\n");
    fputs(line, stderr);
    fflush(stderr);
}
