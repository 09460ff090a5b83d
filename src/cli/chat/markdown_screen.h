// cli/chat/markdown_screen.h - Markdown drawn while it streams.
//
// The text is cut into chunks where no later text changes what is above: at blank lines before a line that is not indented, and around code
// between fences. The last chunk is parsed anew with each addition, and of its lines those are written again that changed. Code is
// written line by line.
//
// Ownership: {0} is ready; markdown_screen_free(). Threads: one at a time.
#ifndef RN_CLI_MARKDOWN_SCREEN_H
#define RN_CLI_MARKDOWN_SCREEN_H

#include "cli/chat/code_colours.h"

typedef struct markdown_screen {
    int columns;    // that lines may take; one less than the terminal has
    bool is_begun;  // something but line breaks has come
    bool is_silent; // what is added is taken as shown already
    bytes chunk;    // text that may still change
    bytes shown;    // its lines on the screen, without the last line break; the cursor stands behind them
    bool is_dirty;  // the chunk has grown since it was drawn
    bool is_list;   // the chunk begins with an item of a list, which goes on over indented lines
    char fence;     // of the code between fences inside the chunk or as a chunk of its own; 0: none is open
    size_t n_fence;
    bool is_code;  // the chunk is a line of code between fences of its own
    bool is_long;  // that line is longer than the screen is wide, and no longer written anew
    size_t n_long; // its bytes on the screen
    code_colours colours;
} markdown_screen;

void markdown_screen_begin(markdown_screen *m, int columns);
// Takes n bytes of whole characters and appends what the terminal is to be sent.
void markdown_screen_add(markdown_screen *m, const char *text, size_t n, bytes *to);
// The text goes on behind one that is on the screen above: only its open chunk is drawn again.
void markdown_screen_resume(markdown_screen *m, const char *text, size_t n, bytes *to);
// The terminal has another width now.
void markdown_screen_resize(markdown_screen *m, int columns, bytes *to);
// Ends the text, and its last line.
void markdown_screen_end(markdown_screen *m, bytes *to);
void markdown_screen_free(markdown_screen *m);

#endif
