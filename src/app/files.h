// app/files.h - reads and writes whole files, and writes to a stdout that may be closed early.
//
// Threads: one at a time.
#ifndef RN_APP_FILES_H
#define RN_APP_FILES_H

#include "app/bytes.h"
#include "app/say.h"
#include <stdio.h>

#define TEXT_LIMIT ((size_t)16 << 20) // of a prompt, a request line, a text: docs/limits.md

// Appends a file's bytes ("-": stdin) to `to`. On failure prints `runnel: FILE: WHY` and returns false.
bool file_read(const char *path, size_t limit, bytes *to);

// Do both paths name the same file?
bool file_is_same(const char *a, const char *b);

// An output file that is complete or absent: written under a temporary name in the same folder, renamed after fsync().
typedef struct out_file {
    FILE *to; // NULL: not open
    char *path, *temp;
    int why; // errno of the first write that failed; 0: none did
    struct out_file
        *next; // that is open; their temporary files are removed when the program ends in between, as without memory
} out_file;
// False: the file cannot be created; the error has been printed.
bool out_file_open(out_file *f, const char *path);
// False: this write or an earlier one failed; nothing is printed, out_file_commit() does that.
bool out_file_write(out_file *f, const void *data, size_t n);
// False: the file is not there under its name; the error has been printed.
bool out_file_commit(out_file *f);
// Removes the temporary file. Allowed after commit and on {0}.
void out_file_drop(out_file *f);

// stdout, unbuffered. A reader that closed the pipe (EPIPE) is not an error: the program ends with 0.
typedef enum out_state { OUT_OPEN = 0, OUT_CLOSED, OUT_FAILED } out_state;
typedef struct output {
    out_state state;
} output;
// False: stop writing; if the write failed, the error has been printed.
bool output_write(output *o, const void *data, size_t n);
// The program's exit code: `code`, unless writing failed or the reader closed the pipe.
int output_exit(const output *o, int code);

#endif
