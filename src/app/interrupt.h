// app/interrupt.h - Ctrl+C: the first asks for a clean end with what was made, the second ends the program at once.
//
// Threads: any.
#ifndef RN_APP_INTERRUPT_H
#define RN_APP_INTERRUPT_H

#include <stdbool.h>

// From here on. Before it, as while a prompt is read from stdin, Ctrl+C simply ends the program.
void interrupt_catch(void);
bool interrupt_came(void);
void interrupt_again(void); // what came is forgotten; the next one is again the first

#endif
