// app/progress.h - a bar on stderr while something takes long: only at a terminal, erased when done.
//
// Nothing is drawn in the first 200 ms under a label, then at most ten times a second. The line is cut to the
// terminal's width.
//
// Threads: update from any thread; begin, hide and end from one.
#ifndef RN_APP_PROGRESS_H
#define RN_APP_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum progress_unit { PROGRESS_COUNT, PROGRESS_BYTES } progress_unit;

typedef struct progress {
    bool is_on;        // a terminal is there
    atomic_flag busy;  // guards what follows; an update that finds it taken is dropped: the next one will do
    const char *label; // "loading"
    const char *note;  // after the figures, or NULL; terminated, may change between updates
    progress_unit unit;
    bool is_shown;
    int64_t begin_ns, drawn_ns;
} progress;

void progress_begin(progress *p);
// What comes now; an earlier label's line is replaced. total 0: unknown, no bar then, only the count.
void progress_update(progress *p, const char *label, progress_unit unit, const char *note, uint64_t done,
                     uint64_t total);
void progress_hide(
    progress *p); // erases the line: before anything else is written to the terminal. Updates draw it again
void progress_end(progress *p); // erases it for good

int64_t now_ns(void); // a clock that only goes forward

#endif
