// app/files.h - whole files in, whole files out, and stdout as a place that may be closed.
//
// Threads: one at a time.
#ifndef RN_APP_FILES_H
#define RN_APP_FILES_H

#include "app/bytes.h"
#include "app/say.h"
#include <stdio.h>

#define TEXT_LIMIT ((size_t)16 << 20) // of a prompt, a request line, a text: docs/limits.md

// Adds a file's bytes ("-": stdin) to `to`. On failure says `runnel: FILE: WHY` and returns false.
bool file_read(const char *path, size_t limit, bytes *to);

bool file_is_same(const char *a, const char *b); // do both names lead to one file?

// A file that is complete or absent: written under a temporary name beside it, renamed when everything is on
// the disk.
typedef struct out_file {
    FILE *to; // NULL: not open
    char *path, *temp;
    int why; // errno of the first write that failed; 0: none did
} out_file;
bool out_file_open(out_file *f, const char *path);            // false, said: it cannot be written there
bool out_file_write(out_file *f, const void *data, size_t n); // false, not said: this write failed, or one before it
bool out_file_commit(out_file *f);                            // false, said: nothing is there under the name
void out_file_drop(out_file *f);                              // leaves nothing behind; fine after commit and on {0}

// stdout, unbuffered. A reader that went away (EPIPE) is no error: the program ends quietly with 0, as its work
// was wanted no more.
typedef enum out_state { OUT_OPEN = 0, OUT_CLOSED, OUT_FAILED } out_state;
typedef struct output {
    out_state state;
} output;
bool output_write(output *o, const void *data, size_t n); // false: stop; a failure was said
// The program's exit code: `code` unless writing failed, or the reader went away.
int output_exit(const output *o, int code);

#endif
