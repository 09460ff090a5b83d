// app/bytes.h - a growing run of bytes: where lines, files and answers are put together.
//
// Where there is no memory and the program goes on (memory.h), what should have been added is missing, data is not NULL and has its
// terminator, and the thread knows.
//
// Ownership: `struct bytes` is the caller's; {0} is empty; bytes_free() gives its memory back and makes it
// empty again.
// Threads:   one at a time.
#ifndef RN_APP_BYTES_H
#define RN_APP_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bytes {
    char *data; // n bytes and a terminator; NULL while nothing was ever added
    size_t n;
    size_t n_room;
} bytes;

// Room for n more; returns where they go; NULL: no memory. The caller adds what it used to b->n.
char *bytes_reserve(bytes *b, size_t n);
void bytes_add(bytes *b, const void *data, size_t n);
void bytes_add_text(bytes *b, const char *text);
__attribute__((format(printf, 2, 3))) void bytes_add_format(bytes *b, const char *fmt, ...);
// Forget the first n.
void bytes_drop_front(bytes *b, size_t n);
void bytes_free(bytes *b);

// Is there nothing in a line but blanks, tabs and the break that Windows writes?
bool line_is_blank(const char *line, size_t n);

#endif
