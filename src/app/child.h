// app/child.h - a program of the project's own beside the running one, with pipes for its three streams.
//
// Threads: one at a time for each child.
#ifndef RN_APP_CHILD_H
#define RN_APP_CHILD_H

#include "app/bytes.h"
#include <stdbool.h>
#include <stdint.h>

// Its ends of the pipes: stdin, stdout and stderr of the child.
typedef struct child {
    int id; // of the process
    int to, from, why;
} child;

enum { CHILD_MOST_ARGS = 80 };

// Starts the program `name` in the folder of the running one. args: [n_args]. False: it does not start.
bool child_begin(child *c, const char *name, const char *const *args, size_t n_args);
// When something is read or written: up to a moment of now_ns(), as long as is_given_up, where it is not NULL, says false.
typedef struct child_patience {
    int64_t ends_ns;
    bool (*is_given_up)(void);
} child_patience;
// Exactly n bytes. False: it has ended, or there was no more time. What it says on stderr meanwhile is appended to `reason`, up to 300 bytes.
bool child_write(child *c, const void *data, size_t n, const child_patience *p, bytes *reason);
bool child_read(child *c, void *data, size_t n, const child_patience *p, bytes *reason);
// Up to the end of both, at most `limit` bytes of stdout. False: there was no more time.
bool child_read_all(child *c, bytes *to, size_t limit, const child_patience *p, bytes *reason);
void child_close_input(child *c);
// Kills it where `kills`, and waits for it. Did it end with 0?
bool child_end(child *c, bool kills);

#endif
