// cli/chat/line_editor.h - reads a message typed at a terminal: history, completion, several lines, pasted text.
//
// Editing is libedit's and follows ~/.editrc. Alt+Enter, or a backslash before Enter, starts another line of the same message, lines
// between """ are one message, and pasted text keeps its line breaks. Ctrl+C clears the whole message, Ctrl+D on an empty line ends the
// input. Between two messages nothing that is typed is shown; it is the beginning of the next one.
//
// Ownership: line_editor_open() / line_editor_close(). Threads: one at a time.
#ifndef RN_CLI_LINE_EDITOR_H
#define RN_CLI_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct line_editor line_editor;

// Returns the words that may complete line[0..n_line), an array terminated by NULL that the callback owns, and sets *start to the
// offset of the word to complete. NULL: none.
typedef const char *const *(*complete_fn)(void *user, const char *line, size_t n_line, size_t *start);

typedef struct line_editor_setup {
    const char *prompt;
    const char *history; // history file, created if missing; NULL: no history
    complete_fn complete;
    void *user;
} line_editor_setup;

line_editor *line_editor_open(
    const line_editor_setup *setup); // NULL: the terminal does not support editing; nothing is printed
// The next message without its last line break, freed with free(); NULL: end of input. prefill: initial text of the line.
char *line_editor_read(line_editor *ed, const char *prefill);
// Asks a question on a line of its own: did the answer begin with y? Neither goes into the history.
bool line_editor_confirm(line_editor *ed, const char *question);
// Gives the terminal, as it was found, to another program, or takes it back.
void line_editor_lend(line_editor *ed, bool is_lent);
void line_editor_close(line_editor *ed); // writes the history; NULL is fine

#endif
