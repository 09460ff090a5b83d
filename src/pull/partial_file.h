// pull/partial_file.h - a file while it is fetched: NAME.part, locked, and NAME.part.state, which says what of it is there.
//
// One process at a time has a part file: it holds a lock on it (flock) until the file is renamed or left for later. Another one that wants
// the same file waits. The state is written after the bytes that it speaks of have reached the disk, so that what it says is there is
// there after a crash, too.
//
// Ownership: `struct part_file` is the caller's; part_close() in any case.
// Threads:   one at a time.
#ifndef RN_PULL_PARTIAL_FILE_H
#define RN_PULL_PARTIAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PART_VALIDATOR = 200 };

typedef struct part_file {
    int fd;             // -1: not open
    char *path;         // of the whole file
    char *part, *state; // of the two above
    uint64_t
        n_bytes; // of the whole file; NO_SIZE (http_fetch.h): unknown, then there is one segment and nothing is kept
    char validator
        [PART_VALIDATOR]; // tells this content from another one of the same name; empty: nothing is kept for later
    uint64_t segment_bytes;
    size_t n_segments;
    uint64_t *done; // [n_segments], bytes that are there from the segment's begin
} part_file;

typedef enum part_outcome {
    PART_OPEN,        // it is ours
    PART_IS_THERE,    // another process has finished the file while we waited
    PART_INTERRUPTED, // Ctrl+C while we waited
    PART_FAILED       // the error has been printed
} part_outcome;
// Opens and locks PATH.part, and makes the folders above it. May wait for another process, which it says.
part_outcome part_open(part_file *p, const char *path);

// Begins anew or where an earlier pull of the same content (size and validator) stopped. False: the error has been printed.
bool part_begin(part_file *p, uint64_t n_bytes, const char *validator);
uint64_t part_segment_end(const part_file *p, size_t i); // of its bytes in the file
uint64_t part_n_done(const part_file *p);

// Writes bytes at their place. False: errno says why.
bool part_write(part_file *p, uint64_t at, const char *data, size_t n);
// Writes down what is there. A failure costs only what would have been spared later.
void part_save(part_file *p);
// All is there: the file gets its name. False: the error has been printed.
bool part_commit(part_file *p);
void part_drop(part_file *p); // deletes what was fetched
void part_close(part_file *p);

// Makes the folders above a path. False: errno says why.
bool make_folders_above(const char *path);
// Writes a small file, complete or not at all. False: errno says why.
bool write_small_file(const char *path, const char *text, size_t n);

#endif
