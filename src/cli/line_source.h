// cli/line_source.h - reads lines from a file descriptor without blocking.
//
// Ownership: `struct line_source` is the caller's; a line is valid until the next call.
// Threads:   one at a time.
#ifndef RN_CLI_LINE_SOURCE_H
#define RN_CLI_LINE_SOURCE_H

#include "app/bytes.h"
#include <stdint.h>

typedef struct line_source {
    int fd;
    const char *name;    // for messages
    bytes buffer;        // [at, n): read, not yet returned
    size_t at, searched; // no line break in [at, searched)
    bool is_at_end, has_failed;
    bool skips;       // skipping the rest of a line that was too long
    uint64_t n_lines; // returned so far: the number of the last line, from 1
    uint64_t n_bytes; // returned so far
} line_source;

typedef enum line_outcome {
    LINE_TAKEN,
    LINE_TOO_LONG, // the line has more than TEXT_LIMIT bytes and is skipped
    LINE_WAIT,     // no whole line yet: poll the descriptor, then line_source_fill()
    LINE_END
} line_outcome;

line_outcome line_source_take(line_source *s, const char **line, size_t *n);
// Does one read(). On failure prints the error, and the input ends.
void line_source_fill(line_source *s);
void line_source_free(line_source *s); // does not close the descriptor

#endif
