// cli/chat/line_editor.h - a person's next message, typed at a terminal: history, completion, several lines, pastes.
//
// Editing is libedit's, as its users' ~/.editrc says. A message of several lines: Alt+Enter (or a backslash before Enter) goes on in a
// new line, and what is pasted keeps its line breaks. Ctrl+C empties the line, Ctrl+D on an empty one ends.
//
// Ownership: line_editor_open() / line_editor_close(). Threads: one at a time.
#ifndef RN_CLI_LINE_EDITOR_H
#define RN_CLI_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct line_editor line_editor;

// The words that may complete line[0..n_line), whose last one begins at *start: terminated by NULL, the caller's. NULL: none.
typedef const char *const *(*complete_fn)(void *user, const char *line, size_t n_line, size_t *start);

typedef struct line_editor_setup {
    const char *prompt;
    const char *history; // a file, made where it is missing; NULL: nothing is kept
    complete_fn complete;
    void *user;
} line_editor_setup;

line_editor *line_editor_open(const line_editor_setup *setup); // NULL: this terminal cannot be edited at; not said
// The next message without its last line break, freed with free(); NULL: the input ended. prefill: what stands in the line at first.
char *line_editor_read(line_editor *ed, const char *prefill);
void line_editor_close(line_editor *ed); // writes the history; NULL is fine

#endif
