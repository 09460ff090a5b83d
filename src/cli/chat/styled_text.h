// cli/chat/styled_text.h - text with a style for each byte, broken into lines and written with a terminal's colours (ECMA-48, SGR).
//
// Columns are those of app/term.h, character by character. Where a terminal draws several as one (emoji joined by ZWJ), it takes fewer; so
// no line is ever longer than counted.
//
// Ownership: {0} is empty; styled_text_free(). Threads: one at a time.
#ifndef RN_CLI_STYLED_TEXT_H
#define RN_CLI_STYLED_TEXT_H

#include "app/bytes.h"
#include <stdint.h>

enum style {
    STYLE_BOLD = 1,
    STYLE_ITALIC = 2,
    STYLE_UNDERLINE = 4,
    STYLE_STRIKE = 8,
    STYLE_DIM = 16,
    // One of these.
    STYLE_CYAN = 1 << 5,
    STYLE_GREEN = 2 << 5,
    STYLE_MAGENTA = 3 << 5,
    STYLE_COLOURS = 7 << 5
};

typedef struct styled_text {
    bytes text, styles; // as many bytes
} styled_text;

void styled_add(styled_text *t, const char *text, size_t n, uint8_t style);
void styled_text_free(styled_text *t);

// A line of the text: bytes [from, to), and its columns.
typedef struct text_line {
    size_t from, to;
    int columns;
} text_line;

// Takes the line that begins at *at: as many words as fit into `columns`, or up to a line break. Sets *at to where the next one begins. False:
// nothing is left. A word that is longer is broken; a character with no columns of its own stays with the one before it.
bool styled_line(const styled_text *t, size_t *at, int columns, text_line *line);
// Columns of the longest line, unbroken.
int styled_columns(const styled_text *t);
// Appends the bytes of a line with their styles, ending without any.
void styled_write(const styled_text *t, const text_line *line, bytes *to);
// Columns of a line that has been written: without its escape sequences.
int written_columns(const char *line, size_t n);

#endif
