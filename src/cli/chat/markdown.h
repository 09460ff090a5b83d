// cli/chat/markdown.h - Markdown as lines for a terminal: md4c parses it, this draws it.
//
// GitHub's Markdown without HTML, which is shown as it is written. Line breaks are kept, since models write verses and addresses with them;
// so are the backslashes of \( and \[, which begin formulas.
//
// Threads: any.
#ifndef RN_CLI_MARKDOWN_H
#define RN_CLI_MARKDOWN_H

#include "cli/chat/styled_text.h"

// Was the program built with md4c?
bool markdown_is_there(void);
// Appends the lines of a text of whole characters, each ending with a line break and at most `columns` wide. False: it was not parsed, and
// nothing has been appended.
bool markdown_add(bytes *to, const char *text, size_t n, int columns);

#endif
