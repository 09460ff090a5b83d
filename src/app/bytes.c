// app/bytes.c - growth by doubling. A size that overflows is treated as a failed allocation.
#include "app/bytes.h"
#include "app/memory.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What `data` points to after the first allocation failed, so that it can still be read. Several zeros, since
// callers may skip an opening bracket.
static char nothing[4];

char *bytes_reserve(bytes *b, size_t n) {
    const size_t n_need = n < SIZE_MAX - b->n ? b->n + n + 1 : SIZE_MAX;
    if (n_need > b->n_room) {
        size_t n_room = b->n_room < 128 ? 128 : b->n_room;
        while (n_room < n_need) n_room = n_room > SIZE_MAX / 2 ? n_need : n_room * 2;
        char *const data = app_realloc(b->n_room ? b->data : NULL, n_room);
        if (!data) {
            if (!b->n_room) b->data = nothing;
            return NULL;
        }
        b->data = data;
        b->n_room = n_room;
    }
    b->data[b->n] = '\0';
    return b->data + b->n;
}

void bytes_add(bytes *b, const void *data, size_t n) {
    char *to = bytes_reserve(b, n);
    if (!to) return;
    if (n) memcpy(to, data, n);
    b->n += n;
    b->data[b->n] = '\0';
}

void bytes_add_text(bytes *b, const char *text) { bytes_add(b, text, strlen(text)); }

void bytes_add_format(bytes *b, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    char *const to = n > 0 ? bytes_reserve(b, (size_t)n) : NULL;
    if (to) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void bytes_drop_front(bytes *b, size_t n) {
    if (n == 0) return;
    memmove(b->data, b->data + n, b->n - n + 1);
    b->n -= n;
}

void bytes_free(bytes *b) {
    if (b->n_room) free(b->data);
    *b = (bytes){0};
}

bool line_is_blank(const char *line, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    return true;
}

size_t character_length(const char *text, size_t n) {
    const unsigned char *const s = (const unsigned char *)text;
    const unsigned char c = s[0];
    unsigned char low = 0x80, high = 0xbf;
    size_t n_more = 0;
    if (c < 0x80) return 1;
    if (c >= 0xc2 && c <= 0xdf)
        n_more = 1;
    else if (c >= 0xe0 && c <= 0xef)
        n_more = 2, low = c == 0xe0 ? 0xa0 : 0x80, high = c == 0xed ? 0x9f : 0xbf;
    else if (c >= 0xf0 && c <= 0xf4)
        n_more = 3, low = c == 0xf0 ? 0x90 : 0x80, high = c == 0xf4 ? 0x8f : 0xbf;
    if (n_more == 0 || n <= n_more || s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i <= n_more; i++)
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return n_more + 1;
}
