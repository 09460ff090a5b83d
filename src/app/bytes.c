// app/bytes.c - growth by doubling; a size that overflows ends the program as an allocation that fails does.
#include "app/bytes.h"
#include "app/say.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *bytes_reserve(bytes *b, size_t n) {
    const size_t n_need = n < SIZE_MAX - b->n ? b->n + n + 1 : SIZE_MAX;
    if (n_need > b->n_room) {
        size_t n_room = b->n_room < 128 ? 128 : b->n_room;
        while (n_room < n_need) n_room = n_room > SIZE_MAX / 2 ? n_need : n_room * 2;
        b->data = app_realloc(b->data, n_room);
        b->n_room = n_room;
    }
    b->data[b->n] = '\0';
    return b->data + b->n;
}

void bytes_add(bytes *b, const void *data, size_t n) {
    char *to = bytes_reserve(b, n);
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
    if (n > 0) {
        vsnprintf(bytes_reserve(b, (size_t)n), (size_t)n + 1, fmt, again);
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
    free(b->data);
    *b = (bytes){0};
}

bool line_is_blank(const char *line, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    return true;
}
