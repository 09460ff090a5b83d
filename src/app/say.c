// app/say.c - error lines in one write, and allocation that ends the program when there is nothing left.
#include "app/say.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) c[0] = c[1] = '?'; // U+0080..U+009F: controls as well
    }
    strcat(line, "\n");
    fputs(line, stderr);
    fflush(stderr);
}

static void *or_end(void *p) {
    if (p) return p;
    say("out of memory");
    exit(EXIT_CODE_FAILED);
}

void *app_alloc(size_t n_bytes) { return or_end(calloc(1, n_bytes ? n_bytes : 1)); }

void *app_realloc(void *p, size_t n_bytes) { return or_end(realloc(p, n_bytes ? n_bytes : 1)); }

char *app_copy_text(const char *text) { return or_end(strdup(text)); }

char *app_text(const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    const int n = vasprintf(&text, fmt, args);
    va_end(args);
    return or_end(n < 0 ? NULL : text);
}
