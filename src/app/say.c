// app/say.c - writes error messages, each with one write.
#include "app/say.h"
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_bool never_waits;

void say_never_wait(void) { atomic_store(&never_waits, true); }

static bool has_room(void) {
    struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&err, 1, 0) == 1 && (err.revents & POLLOUT);
}

// Replaces control characters, line breaks and tabs excepted: C0, DEL, and C1 as UTF-8 or as single bytes, which some terminals obey.
static void make_harmless(unsigned char *c) {
    for (int n_follow = 0; *c; c++) {
        const bool follows = n_follow > 0 && *c >= 0x80 && *c <= 0xbf;
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
            *c = c[1] = '?';
        else if (follows)
            n_follow--;
        else if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f || (*c >= 0x80 && *c <= 0xc1) || *c > 0xf4)
            *c = '?';
        else
            n_follow = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : 0;
    }
}

void say(const char *fmt, ...) {
    char line[4096] = "runnel: "; // the log-line limit of docs/limits.md
    const size_t n_front = strlen(line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + n_front, sizeof line - n_front - 1, fmt, args);
    va_end(args);
    make_harmless((unsigned char *)line + n_front);
    strcat(line, "\n");
    if (atomic_load(&never_waits) && !has_room()) return;
    fputs(line, stderr);
    fflush(stderr);
}
