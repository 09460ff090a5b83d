// cli/chat/reply_screen.h - a reply as it streams: whole words on a line at a terminal, reasoning dimmed, bytes unchanged in a pipe.
//
// Markdown stays as the model writes it. Lines of prose are broken between words, below where their text begins (list items hang);
// what stands between ``` fences is left to the terminal. A word that turns out too long for its line is taken back and goes on the
// next one, so that no text waits for the end of its word.
//
// Ownership: plain data and one buffer; reply_screen_free(). Threads: one at a time.
#ifndef RN_CLI_REPLY_SCREEN_H
#define RN_CLI_REPLY_SCREEN_H

#include "app/bytes.h"
#include "app/files.h"
#include <runnel/chat.h>

typedef struct reply_screen {
    output out;
    bool is_terminal, has_colour;
    bool shows_reasoning;
    bool wraps;  // at a terminal that can erase
    int columns; // that may be used; the last one of the terminal is left free
    // Where the reply stands.
    bool is_open; // something of this reply was shown
    rn_channel channel;
    bool has_note; // "thinking ..." stands on the line
    int column, indent;
    int word_columns;  // of the word that the line ends with
    bytes word, start; // that word; the first bytes of the line, as far as they tell what it is
    bool is_code, is_fence, start_known;
    bytes line; // what is going to be written
} reply_screen;

void reply_screen_init(reply_screen *s); // looks at stdout
void reply_screen_free(reply_screen *s);

void reply_screen_begin(reply_screen *s); // a new reply; the terminal may have another width
// false: stdout is gone.
bool reply_screen_add(reply_screen *s, const rn_delta *delta);
void reply_screen_end(reply_screen *s); // ends the line and the colours

#endif
