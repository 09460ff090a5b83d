// app/progress.h - a progress bar on stderr, only at a terminal and erased when done.
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
    atomic_flag busy;  // guards the fields below; an update that finds it set is dropped, the next one replaces it
    const char *label; // "loading"
    const char *note;  // after the figures, or NULL; terminated, may change between updates
    progress_unit unit;
    bool is_shown;
    int64_t begin_ns, drawn_ns;
} progress;

void progress_begin(progress *p);
// Shows this state in place of the previous one. total 0: unknown, then the count alone is shown.
void progress_update(progress *p, const char *label, progress_unit unit, const char *note, uint64_t done,
                     uint64_t total);
void progress_hide(
    progress *p); // erases the line: before anything else is written to the terminal. Updates draw it again
void progress_end(progress *p); // erases it for good

// Monotonic clock, nanoseconds. The library has its own, clock_now_ns() of base/clock.h, which programs cannot include: they use the
// library through include/runnel/ alone.
int64_t now_ns(void);

#endif
