// cli/chat/code_colours.h - styles for a line of source text: comments, strings, numbers, keywords.
//
// A scanner of words, not a parser: what it takes a line for it tells from the line and from what the line before left open.
//
// Threads: one at a time for each code_colours.
#ifndef RN_CLI_CODE_COLOURS_H
#define RN_CLI_CODE_COLOURS_H

#include "cli/chat/styled_text.h"

typedef struct code_colours {
    const struct code_language *language; // NULL: unknown, without colours
    char quote[4];                        // of a string that goes on over lines; empty: none is open
    bool is_comment;                      // a block comment is open
} code_colours;

// name: as behind a fence, n bytes of it: "python", "C++", "js".
void code_colours_begin(code_colours *c, const char *name, size_t n);
// Adds a line, without its line break.
void code_colours_add(code_colours *c, const char *line, size_t n, styled_text *to);

#endif
