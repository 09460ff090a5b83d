// app/bytes.h - a growable byte buffer: lines, files and answers are built in it.
//
// When an allocation fails and the program continues (memory.h), the bytes that should have been added are missing, `data` is
// still not NULL and terminated, and memory_failed() is true on this thread.
//
// Ownership: `struct bytes` is the caller's; {0} is empty; bytes_free() frees its memory and makes it empty again.
// Threads:   one at a time.
#ifndef RN_APP_BYTES_H
#define RN_APP_BYTES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bytes {
    char *data; // n bytes and a terminator; NULL until something is added
    size_t n;
    size_t n_room; // allocated bytes
} bytes;

// Makes room for n more bytes and returns where to write them; NULL: out of memory. The caller adds the bytes it wrote to b->n.
char *bytes_reserve(bytes *b, size_t n);
void bytes_add(bytes *b, const void *data, size_t n);
void bytes_add_text(bytes *b, const char *text);
__attribute__((format(printf, 2, 3))) void bytes_add_format(bytes *b, const char *fmt, ...);
// Removes the first n bytes.
void bytes_drop_front(bytes *b, size_t n);
void bytes_free(bytes *b);

// Does the line hold nothing but spaces, tabs and carriage returns?
bool line_is_blank(const char *line, size_t n);

// The length of the UTF-8 character at text[0..n), n >= 1 (RFC 3629, section 4); 0: invalid (overlong, a surrogate, above U+10FFFF, or
// cut off).
size_t character_length(const char *text, size_t n);

#endif
