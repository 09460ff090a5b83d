// app/term.h - properties of the terminal that a file descriptor is open on.
//
// Threads: any.
#ifndef RN_APP_TERM_H
#define RN_APP_TERM_H

#include "app/bytes.h"
#include <stdbool.h>
#include <stddef.h>

bool term_is(int fd);
int term_width(int fd);     // columns; 80 if unknown
bool term_can_draw(int fd); // a terminal that understands "\r" and "erase line": not TERM=dumb
bool term_utf8(void);       // the locale's characters are UTF-8: LC_ALL, else LC_CTYPE, else LANG says so (locale(7))
bool term_colour(int fd);   // one that may be coloured: NO_COLOR is not set (no-color.org)

// Appends generated text in a form that is safe to print: control characters other than line break and tab, and C1 controls,
// become U+FFFD, so that a text cannot send escape sequences to the terminal.
void term_add_plain(bytes *to, const char *text, size_t n_text);
// The same for a text that shares its row with others: line breaks and tabs become spaces, and characters that would order the rest of
// the row from right to left are left out.
void term_add_line(bytes *to, const char *text, size_t n_text);
// Bytes of the character at text[0..n), n >= 1, and its columns in the locale of setlocale(): 0, 1 or 2. Where the bytes are no
// character of that locale: one byte, one column.
size_t term_character(const char *text, size_t n, int *columns);

#endif
