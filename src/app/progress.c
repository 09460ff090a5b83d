// app/progress.c - the progress bar: one line, redrawn in place with one write.
#include "app/progress.h"
#include "app/term.h"
#include "app/wrap.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_NS = 200000000, REDRAW_NS = 100000000, BAR_MAX = 30, BAR_MIN = 6 };

int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void progress_begin(progress *p) {
    *p = (progress){.is_on = term_can_draw(STDERR_FILENO), .begin_ns = now_ns()};
    atomic_flag_clear(&p->busy);
}

// "label [#####.....]  45% 1.2 GB of 2.3 GB, note". If the line is too narrow, the note is left out first, then
// the bar. If label and sizes still do not fit, only the percentage is shown, with a bar if there is room.
static void draw(const progress *p, uint64_t done, uint64_t total) {
    char figures[96], part[HUMAN_BYTES], whole[HUMAN_BYTES], bar[BAR_MAX + 4] = "", line[512];
    const int width = term_width(STDERR_FILENO) - 1; // the last column would wrap on some terminals
    const char *(*const human)(uint64_t, char *) = p->unit == PROGRESS_BYTES ? human_size : human_count;
    human(done, part);
    human(total, whole);
    if (total)
        snprintf(figures, sizeof figures, " %3d%% %s of %s", (int)((double)done * 100 / (double)total), part, whole);
    else
        snprintf(figures, sizeof figures, " %s", part);
    const int n_label = (int)strlen(p->label), n_note = p->note ? (int)strlen(p->note) + 2 : 0;
    int n_figures = (int)strlen(figures);
    if (n_label + n_figures > width && total) n_figures = 5; // only the percentage
    int n_bar = total ? width - n_label - n_figures - n_note - 3 : 0;
    const bool has_note = p->note && n_label + n_figures + n_note + (total ? BAR_MIN + 3 : 0) <= width;
    if (!has_note) n_bar += n_note;
    if (n_bar > BAR_MAX) n_bar = BAR_MAX;
    if (n_bar >= BAR_MIN) {
        const int n_full = (int)((double)n_bar * (double)done / (double)total);
        memset(bar, '.', sizeof bar);
        memset(bar + 2, '#', (size_t)(n_full < n_bar ? n_full : n_bar));
        bar[0] = ' ', bar[1] = '[', bar[n_bar + 2] = ']', bar[n_bar + 3] = '\0';
    }
    snprintf(line, sizeof line, "%s%s%.*s%s%s", p->label, bar, n_figures, figures, has_note ? ", " : "",
             has_note ? p->note : "");
    fprintf(stderr, "\r\x1b[K%.*s", width, line);
    fflush(stderr);
}

void progress_update(progress *p, const char *label, progress_unit unit, const char *note, uint64_t done,
                     uint64_t total) {
    const int64_t now = now_ns();
    if (!p->is_on || atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire)) return;
    if (p->label != label) {
        p->label = label;
        p->begin_ns = now;
    }
    const bool is_late = total && done >= total && !p->is_shown; // a bar that would first appear full is not shown
    if (!is_late && now - p->begin_ns >= QUIET_NS && now - p->drawn_ns >= REDRAW_NS) {
        p->unit = unit, p->note = note;
        p->drawn_ns = now;
        p->is_shown = true;
        draw(p, done < total || !total ? done : total, total);
    }
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

void progress_hide(progress *p) {
    if (!p->is_on) return;
    while (atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire)) {
    }
    if (p->is_shown) {
        fputs("\r\x1b[K", stderr);
        fflush(stderr);
    }
    p->is_shown = false;
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
}

void progress_end(progress *p) {
    progress_hide(p);
    p->is_on = false;
}
