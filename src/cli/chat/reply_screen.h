// cli/chat/reply_screen.h - prints a reply as it streams: Markdown drawn and reasoning dimmed at a terminal, unchanged in a pipe.
//
// Without colours, and where `renders` is off, Markdown is printed as the model wrote it. Prose is wrapped between words with a hanging indent for list items; text between ```
// fences is not wrapped. Text is printed at once: a word that turns out too long for its line is erased and printed again on the
// next line.
//
// Ownership: plain data and one buffer; reply_screen_free(). Threads: one at a time.
#ifndef RN_CLI_REPLY_SCREEN_H
#define RN_CLI_REPLY_SCREEN_H

#include "app/bytes.h"
#include "app/files.h"
#include "cli/chat/markdown_screen.h"
#include <runnel/chat.h>

typedef struct reply_screen {
    output out;
    bool is_terminal, has_colour;
    bool shows_reasoning;
    bool wraps;   // at a terminal that can erase
    bool renders; // Markdown is drawn
    markdown_screen markdown;
    int columns; // usable columns: the terminal's last one stays free
    // Position within the reply.
    bool is_open; // something of this reply has been printed
    rn_channel channel;
    bool has_note; // "thinking ..." is on the line
    int column, indent;
    int word_columns;  // width of the word at the end of the line
    bytes word, start; // that word; the first bytes of the line, until its kind (list item, fence, prose) is known
    bool is_code, is_fence, start_known;
    bytes line; // output buffer
} reply_screen;

void reply_screen_init(reply_screen *s); // looks at stdout
void reply_screen_free(reply_screen *s);

void reply_screen_begin(reply_screen *s); // starts a new reply; reads the terminal's width again
// False: stdout is closed.
bool reply_screen_add(reply_screen *s, const rn_delta *delta);
// The reply goes on behind n bytes of content, which are on the screen above: shows what they end with again.
void reply_screen_resume(reply_screen *s, const char *text, size_t n);
void reply_screen_end(reply_screen *s); // ends the line and resets colours

#endif
