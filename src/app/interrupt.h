// app/interrupt.h - Ctrl+C: the first one asks for a clean end that keeps the output so far, the second ends the program at once.
//
// Threads: any.
#ifndef RN_APP_INTERRUPT_H
#define RN_APP_INTERRUPT_H

#include <stdbool.h>

// Installs the handler. Before that, for example while a prompt is read from stdin, Ctrl+C ends the program.
void interrupt_catch(void);
bool interrupt_came(void);
// Forgets the Ctrl+C that came: the next one counts as the first again.
void interrupt_again(void);

#endif
