// app/say.h - messages on stderr, and the program's exit codes.
//
// Threads: any.
#ifndef RN_APP_SAY_H
#define RN_APP_SAY_H

#include "app/memory.h" // used by almost all callers of say()

// The program's exit codes; docs/man/runnel.1 documents them.
typedef enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILED = 1,
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_INTERRUPTED = 130 // 128 + SIGINT, as shells report it
} exit_code;

// Prints `runnel: WHAT: WHY` and a line break in one write. Control characters are shown as `?`, so that a name or a value in the
// message cannot send escape sequences to the terminal.
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

// For a server: from now on a message is dropped where stderr has no room for it, because its reader does not keep up.
void say_never_wait(void);

#endif
